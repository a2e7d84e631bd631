"""A language model that reads from left to right, to compare others with."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.nn.attention import Attention
from strukt.nn.dropout import SharedDropout
from strukt.nn.encoders import mask_of


class RecurrentState(NamedTuple):
    """Where a text stands.

    Attributes:
        word: ``(batch,)``, the last word.
        hidden: ``(layers, batch, size)``.
        cell: The same of the cells.
        memory: ``(batch, m, size)``, the last outputs, which attention looks back at; without attention m is 0.
    """

    word: Tensor
    hidden: Tensor
    cell: Tensor
    memory: Tensor


class RecurrentLanguageModel(nn.Module):
    """An LSTM whose output predicts the next word by the same vectors by which words come in.

    With attention the output at each word looks back at those of the words before it, as far as the window goes,
    and what it finds is joined to it.

    Source: Zaremba et al. (2014), "Recurrent neural network regularization"; Press and Wolf (2017), "Using the
    output embedding to improve language models"; Liu Ziyin et al. (2018), "Relational attention networks via
    fully-connected conditional random fields", for attention.

    Args:
        words: Size of the vocabulary, v.
        size: Of the vectors of words, and of the states.
        layers: Number of layers.
        dropout: In front of each layer and behind the last.
        attention: Of outputs over outputs, both of this size; None for none.
        window: How many words back it reaches.

    Examples:
        >>> model = RecurrentLanguageModel(words=10, size=8)
        >>> log_probs, state = model(torch.tensor([[3, 1, 4]]), torch.tensor([3]))
        >>> log_probs.shape, model.next(state).exp().sum()
        (torch.Size([1, 3]), tensor(1.0000, grad_fn=<SumBackward0>))
    """

    def __init__(
        self,
        words: int,
        size: int = 256,
        layers: int = 1,
        dropout: float = 0.0,
        attention: Attention | None = None,
        window: int = 64,
    ) -> None:
        super().__init__()
        self.words = words
        self.vectors = nn.Embedding(words + 1, size)  # the last one is that of the beginning
        self.bias = nn.Parameter(torch.zeros(words))
        self.dropout = SharedDropout(dropout)
        self.layers = nn.ModuleList(nn.LSTM(size, size, batch_first=True) for _ in range(layers))
        nn.init.normal_(self.vectors.weight, std=size**-0.5)
        self.attention, self.window = attention, window
        # Weights of mean field do not sum to 1, so that what is found can be long: its length is normalised.
        self.join = (
            None if attention is None else nn.Sequential(nn.Linear(2 * size, size), nn.LayerNorm(size))
        )

    def beginning(self, batch: int) -> RecurrentState:
        """The state before the first word of texts."""
        weight = self.vectors.weight
        zeros = weight.new_zeros(len(self.layers), batch, weight.shape[1])
        memory = weight.new_zeros(batch, 0, weight.shape[1])
        return RecurrentState(weight.new_full((batch,), self.words, dtype=torch.long), zeros, zeros, memory)

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
        outputs, after = self._read(torch.cat([state.word[:, None], words], 1)[:, :-1], state)
        scores = self._scores(outputs)
        losses = functional.cross_entropy(scores.flatten(0, 1), words.flatten(), reduction="none")
        return -losses.view(x.shape).masked_fill(~inside, 0), after._replace(word=words[:, -1])

    def next(self, state: RecurrentState) -> Tensor:
        """The log-probability of each word behind what was read: ``(batch, v)``."""
        outputs, _ = self._read(state.word[:, None], state)
        return self._scores(outputs)[:, 0].log_softmax(-1)

    def _read(self, words: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        outputs, states = self.vectors(words), []
        for layer, hidden, cell in zip(self.layers, state.hidden, state.cell, strict=True):
            outputs, last = layer(self.dropout(outputs), (hidden[None], cell[None]))
            states.append(last)
        hidden, cell = (torch.cat(parts) for parts in zip(*states, strict=True))
        if self.attention is None or self.join is None:
            return self.dropout(outputs), RecurrentState(words[:, -1], hidden, cell, state.memory)
        keys = torch.cat([state.memory, outputs], 1)
        found = self.attention.weights(outputs, keys, self._before(outputs.shape[1], keys)) @ keys
        joined = self.join(torch.cat([outputs, found], -1))
        return self.dropout(joined), RecurrentState(words[:, -1], hidden, cell, keys[:, -self.window :])

    def _before(self, n: int, keys: Tensor) -> Tensor:
        """Which keys stand before the last n, and not too far: ``(1, n, m)``."""
        places = torch.arange(keys.shape[1], device=keys.device)
        steps = places[-n:, None] - places
        return ((steps > 0) & (steps <= self.window)).unsqueeze(0)

    def _scores(self, outputs: Tensor) -> Tensor:
        return functional.linear(outputs, self.vectors.weight[: self.words], self.bias)
