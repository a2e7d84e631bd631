"""The base class of left-to-right language models (LMs)."""

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
    """The base class of language models that predict the next word with tied input and output embeddings.

    A subclass implements `beginning` and `read`. Its state is a named tuple with a field `word` ``(batch,)``, the
    last word that was read, and any other fields.

    Source: Press and Wolf (2017), "Using the output embedding to improve language models".

    Args:
        words: Size of the vocabulary, v.
        size: Size of the word vectors and of the outputs.

    Raises:
        ValueError: If `words` or `size` is less than 1.
    """

    def __init__(self, words: int, size: int) -> None:
        super().__init__()
        require_sizes(words=words, size=size)
        self.words = words
        self.vectors = nn.Embedding(words + 1, size)  # the last row is the start symbol
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.normal_(self.vectors.weight, std=size**-0.5)

    @torch.no_grad()
    def begin_with(self, counts: Tensor) -> None:
        """Set the biases to the log-counts of the words, so that training need not learn word frequencies.

        Without this, a network first learns the frequencies from large and constant inputs, such as the sum of all
        words under unnormalised attention, and takes long to become independent of these inputs again.

        Args:
            counts: ``(v,)``, the number of occurrences of each word; 1 is added to each (add-one smoothing).

        Raises:
            ValueError: If `counts` does not have one finite entry of 0 or more for each word.
        """
        self.bias.copy_(log_counts(counts, self.bias))

    @abstractmethod
    def beginning(self, batch: int) -> Any:
        """Return the state before the first word of each of `batch` texts; its `word` is the start symbol, v."""

    @abstractmethod
    def read(self, words: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Return the outputs ``(batch, n, size)`` after each of the words ``(batch, n)``, and the new state.

        The first of the words is ``state.word``. `forward` replaces ``word`` in the new state by the word that the
        last output predicts.
        """

    def forward(self, x: Tensor, lengths: Lengths | None = None, state: Any = None) -> tuple[Tensor, Any]:
        """Return the log-probability of each word given the words before it: ``(batch, n)``, 0 in the padding.

        Args:
            x: ``(batch, n)``, word indices from 0 to v - 1; padding may hold any values.
            lengths: ``(batch,)``; all n if None.
            state: The state returned for the previous words; the beginning of texts if None. It is not modified.

        Returns:
            The log-probabilities, and the state after the last of the n words. A text with padding cannot be
            continued from this state.

        Raises:
            ValueError: If a shape is wrong, a length is not between 0 and n, or a word is not in the vocabulary.
        """
        lengths = lengths_of_symbols("x", x, lengths, self.words)
        state = self.beginning(len(x)) if state is None else state
        if not x.numel():
            return self.bias.new_zeros(x.shape), state
        inside = mask_of(lengths, x.shape[1])
        words = x.long().masked_fill(~inside, 0)
        outputs, after = self.read(torch.cat([state.word[:, None], words], 1)[:, :-1], state)
        scores = self._scores(outputs)
        losses = functional.cross_entropy(scores.flatten(0, 1), words.flatten(), reduction="none")
        return -losses.view(x.shape).masked_fill(~inside, 0), after._replace(word=words[:, -1])

    def next(self, state: Any) -> Tensor:
        """Return the log-probability of each word of the vocabulary as the next word: ``(batch, v)``.

        Args:
            state: A state that `forward` or `beginning` returned.
        """
        outputs, _ = self.read(state.word[:, None], state)
        return self._scores(outputs)[:, 0].log_softmax(-1)

    def _scores(self, outputs: Tensor) -> Tensor:
        return functional.linear(outputs, self.vectors.weight[: self.words], self.bias)
