"""A language model that reads from left to right, to compare others with."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.nn.dropout import SharedDropout
from strukt.nn.encoders import mask_of


class RecurrentState(NamedTuple):
    """Where a text stands.

    Attributes:
        word: ``(batch,)``, the last word.
        hidden: ``(layers, batch, size)``.
        cell: The same of the cells.
    """

    word: Tensor
    hidden: Tensor
    cell: Tensor


class RecurrentLanguageModel(nn.Module):
    """An LSTM whose output predicts the next word by the same vectors by which words come in.

    Source: Zaremba et al. (2014), "Recurrent neural network regularization"; Press and Wolf (2017), "Using the
    output embedding to improve language models".

    Args:
        words: Size of the vocabulary, v.
        size: Of the vectors of words, and of the states.
        layers: Number of layers.
        dropout: In front of each layer and behind the last.

    Examples:
        >>> model = RecurrentLanguageModel(words=10, size=8)
        >>> log_probs, state = model(torch.tensor([[3, 1, 4]]), torch.tensor([3]))
        >>> log_probs.shape, model.next(state).exp().sum()
        (torch.Size([1, 3]), tensor(1.0000, grad_fn=<SumBackward0>))
    """

    def __init__(self, words: int, size: int = 256, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = words
        self.vectors = nn.Embedding(words + 1, size)  # the last one is that of the beginning
        self.bias = nn.Parameter(torch.zeros(words))
        self.dropout = SharedDropout(dropout)
        self.layers = nn.ModuleList(nn.LSTM(size, size, batch_first=True) for _ in range(layers))
        nn.init.normal_(self.vectors.weight, std=size**-0.5)

    def beginning(self, batch: int) -> RecurrentState:
        """The state before the first word of texts."""
        weight = self.vectors.weight
        zeros = weight.new_zeros(len(self.layers), batch, weight.shape[1])
        return RecurrentState(weight.new_full((batch,), self.words, dtype=torch.long), zeros, zeros)

    def forward(
        self, x: Tensor, lengths: Tensor, state: RecurrentState | None = None
    ) -> tuple[Tensor, RecurrentState]:
        """The log-probability of each word given those before it: ``(batch, n)``, 0 beyond the lengths.

        Args:
            x: ``(batch, n)``.
            lengths: ``(batch,)``.
            state: What this gave for the words before; the beginning of texts if None.

        Returns:
            The log-probabilities, and the state to go on from, where a text is as long as the batch.
        """
        state = self.beginning(len(x)) if state is None else state
        if not x.numel():
            return self.bias.new_zeros(x.shape), state
        inside = mask_of(lengths, x.shape[1])
        words = x.masked_fill(~inside, 0)
        outputs, hidden, cell = self._read(torch.cat([state.word[:, None], words], 1)[:, :-1], state)
        scores = self._scores(outputs)
        losses = functional.cross_entropy(scores.flatten(0, 1), words.flatten(), reduction="none")
        return -losses.view(x.shape).masked_fill(~inside, 0), RecurrentState(words[:, -1], hidden, cell)

    def next(self, state: RecurrentState) -> Tensor:
        """The log-probability of each word behind what was read: ``(batch, v)``."""
        outputs, _, _ = self._read(state.word[:, None], state)
        return self._scores(outputs)[:, 0].log_softmax(-1)

    def _read(self, words: Tensor, state: RecurrentState) -> tuple[Tensor, Tensor, Tensor]:
        outputs, states = self.vectors(words), []
        for layer, hidden, cell in zip(self.layers, state.hidden, state.cell, strict=True):
            outputs, last = layer(self.dropout(outputs), (hidden[None], cell[None]))
            states.append(last)
        hidden, cell = (torch.cat(parts) for parts in zip(*states, strict=True))
        return self.dropout(outputs), hidden, cell

    def _scores(self, outputs: Tensor) -> Tensor:
        return functional.linear(outputs, self.vectors.weight[: self.words], self.bias)
