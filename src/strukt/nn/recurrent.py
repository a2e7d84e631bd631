"""A language model that reads from left to right, to compare others with."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.nn.attention import Attention
from strukt.nn.dropout import SharedDropout
from strukt.nn.left_to_right import LeftToRightModel


class RecurrentState(NamedTuple):
    """Where a text stands.

    Attributes:
        word: ``(batch,)``, the last word.
        hidden: ``(layers, batch, size)``.
        cell: The same of the cells of an LSTM; of size 0 of a plain network.
        memory: ``(batch, m, size)``, the last outputs, which attention looks back at; without attention m is 0.
    """

    word: Tensor
    hidden: Tensor
    cell: Tensor
    memory: Tensor


class RecurrentLanguageModel(LeftToRightModel):
    """An LSTM or a plain recurrent network over words.

    With attention the output at each word looks back at those of the words before it, as far as the window goes,
    and what it finds is joined to it.

    Source: Zaremba et al. (2014), "Recurrent neural network regularization"; Liu Ziyin et al. (2018), "Relational
    attention networks via fully-connected conditional random fields", for attention.

    Args:
        words: Size of the vocabulary, v.
        size: Of the vectors of words, and of the states.
        layers: Number of layers.
        dropout: In front of each layer and behind the last.
        attention: Of outputs over outputs, both of this size; None for none.
        window: How many words back it reaches.
        cell: An LSTM or a plain recurrent network (Elman 1990).

    Examples:
        >>> model = RecurrentLanguageModel(words=10, size=8)
        >>> log_probs, state = model(torch.tensor([[3, 1, 4]]), torch.tensor([3]))
        >>> log_probs.shape, round(model.next(state).exp().sum().item(), 4)
        (torch.Size([1, 3]), 1.0)
    """

    def __init__(
        self,
        words: int,
        size: int = 256,
        layers: int = 1,
        dropout: float = 0.0,
        attention: Attention | None = None,
        window: int = 64,
        cell: Literal["lstm", "rnn"] = "lstm",
    ) -> None:
        super().__init__(words, size)
        self.dropout = SharedDropout(dropout)
        kind = {"lstm": nn.LSTM, "rnn": nn.RNN}[cell]
        self.layers = nn.ModuleList(kind(size, size, batch_first=True) for _ in range(layers))
        self.cells = size if cell == "lstm" else 0
        self.attention, self.window = attention, window
        # Weights of mean field do not sum to 1, so that what is found can be long: its length is normalised.
        self.join = (
            None if attention is None else nn.Sequential(nn.Linear(2 * size, size), nn.LayerNorm(size))
        )

    @override
    def beginning(self, batch: int) -> RecurrentState:
        """The state before the first word of texts."""
        weight = self.vectors.weight
        zeros = weight.new_zeros(len(self.layers), batch, weight.shape[1])
        memory = weight.new_zeros(batch, 0, weight.shape[1])
        words = weight.new_full((batch,), self.words, dtype=torch.long)
        return RecurrentState(words, zeros, zeros[..., : self.cells], memory)

    def recurrent(self, words: Tensor, state: RecurrentState) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs of the last layer ``(batch, n, size)``, and the states and cells ``(layers, batch, size)``."""
        outputs, states = self.vectors(words), []
        for layer, hidden, cell in zip(self.layers, state.hidden, state.cell, strict=True):
            start = (hidden[None], cell[None]) if self.cells else hidden[None]
            outputs, last = layer(self.dropout(outputs), start)
            states.append(last if self.cells else (last, cell[None]))
        return outputs, *(torch.cat(parts) for parts in zip(*states, strict=True))

    @override
    def read(self, words: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        outputs, hidden, cell = self.recurrent(words, state)
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
