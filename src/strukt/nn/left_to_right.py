"""What language models that read from left to right have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.checks.lengths import Lengths
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import lengths_of_symbols, log_counts, require_sizes


class LeftToRightModel(nn.Module, ABC):
    """A network whose output predicts the next word by the same vectors by which words come in.

    Source: Press and Wolf (2017), "Using the output embedding to improve language models".

    Args:
        words: Size of the vocabulary, v.
        size: Of the vectors of words, and of the outputs.
    """

    def __init__(self, words: int, size: int) -> None:
        super().__init__()
        require_sizes(words=words, size=size)
        self.words = words
        self.vectors = nn.Embedding(words + 1, size)  # the last one is that of the beginning
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.normal_(self.vectors.weight, std=size**-0.5)

    @torch.no_grad()
    def begin_with(self, counts: Tensor) -> None:
        """Let the biases begin with how frequent the words are, so that it need not be learned.

        Else a network learns it first, from whatever is large and constant, such as the sum of all that it has
        read where attention is not normalised, and is slow to leave that.

        Args:
            counts: ``(v,)``, how often each word occurs; one is added to each.

        Raises:
            ValueError: If there is not one for each word.
        """
        self.bias.copy_(log_counts(counts, self.bias))

    @abstractmethod
    def beginning(self, batch: int) -> Any:
        """The state before the first word of texts; its `word` is the last one that was seen."""

    @abstractmethod
    def read(self, words: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The outputs ``(batch, n, size)`` behind words ``(batch, n)``, and the state then."""

    def forward(self, x: Tensor, lengths: Lengths | None = None, state: Any = None) -> tuple[Tensor, Any]:
        """The log-probability of each word given those before it: ``(batch, n)``, 0 beyond the lengths.

        Args:
            x: ``(batch, n)``.
            lengths: ``(batch,)``; all n if None.
            state: What this gave for the words before; the beginning of texts if None.

        Returns:
            The log-probabilities, and the state to go on from, where a text is as long as the batch.

        Raises:
            ValueError: If shapes do not fit, a length is not between 0 and n, or a word is not in the vocabulary.
        """
        lengths = lengths_of_symbols("x", x, lengths, self.words)
        state = self.beginning(len(x)) if state is None else state
        if not x.numel():
            return self.bias.new_zeros(x.shape), state
        inside = mask_of(lengths, x.shape[1])
        words = x.masked_fill(~inside, 0)
        outputs, after = self.read(torch.cat([state.word[:, None], words], 1)[:, :-1], state)
        scores = self._scores(outputs)
        losses = functional.cross_entropy(scores.flatten(0, 1), words.flatten(), reduction="none")
        return -losses.view(x.shape).masked_fill(~inside, 0), after._replace(word=words[:, -1])

    def next(self, state: Any) -> Tensor:
        """The log-probability of each word behind what was read: ``(batch, v)``."""
        outputs, _ = self.read(state.word[:, None], state)
        return self._scores(outputs)[:, 0].log_softmax(-1)

    def _scores(self, outputs: Tensor) -> Tensor:
        return functional.linear(outputs, self.vectors.weight[: self.words], self.bias)
