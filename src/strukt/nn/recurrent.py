"""The recurrent language model (LM): an LSTM or RNN baseline, optionally with attention."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.inference.settings import require_one_of
from strukt.nn.attention import Attention
from strukt.nn.dropout import SharedDropout
from strukt.nn.encoders import CELLS, run_recurrent
from strukt.nn.inputs import require_sizes
from strukt.nn.left_to_right import LeftToRightModel


class RecurrentState(NamedTuple):
    """State carried between chunks of a text.

    Attributes:
        word: ``(batch,)``, the last word that was read.
        hidden: ``(layers, batch, size)``, the hidden states; with input feeding, the last layer is the decoder.
        cell: ``(layers, batch, size)``, the cells of an LSTM; of size 0 for a plain network.
        memory: ``(batch, m, size)``, the most recent outputs, which attention reads; m is 0 without attention.
    """

    word: Tensor
    hidden: Tensor
    cell: Tensor
    memory: Tensor


class RecurrentLanguageModel(LeftToRightModel):
    """A recurrent language model (LM): an LSTM or a plain recurrent network over words.

    With attention, the output at each word attends to the outputs at the words before it within the window. It is
    combined with the context, which is their weighted sum. With input feeding, as published, a second recurrent
    network is the decoder: its previous state attends to the outputs up to and including the current word. It
    reads this word and the context, and its new state is the output.

    Source: Zaremba et al. (2014), "Recurrent neural network regularization"; Liu Ziyin et al. (2019), "Relational
    attention networks via fully-connected conditional random fields", algorithm 2, for input feeding.

    Args:
        words: Size of the vocabulary, v.
        size: Size of the word vectors and of the states.
        layers: Number of layers.
        dropout: Dropout before each layer and after the last.
        attention: Attention with queries and keys of size `size`; None for no attention.
        window: Number of most recent outputs that attention reads; ignored without attention.
        cell: ``lstm`` for an LSTM, or ``rnn`` for a plain recurrent network (Elman 1990).
        input_feeding: Whether a decoder reads the context; it reads the words one by one, which is slower.

    Raises:
        ValueError: If `words`, `size`, `layers` or `window` is less than 1, `cell` is unknown, `dropout` is not at
            least 0 and below 1, or input feeding is requested without attention.

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
        input_feeding: bool = False,
    ) -> None:
        super().__init__(words, size)
        require_sizes(layers=layers, window=window)
        require_one_of("cell", cell, tuple(CELLS))
        if input_feeding and attention is None:
            raise ValueError("input_feeding is True without attention; there is no context to feed in")
        self.dropout = SharedDropout(dropout)
        kind = CELLS[cell]
        self.layers = nn.ModuleList(kind(size, size, batch_first=True) for _ in range(layers))
        self.cells = size if cell == "lstm" else 0
        self.attention, self.window = attention, window
        # Mean-field weights need not sum to 1, so that contexts can be long vectors: normalise their length.
        joins = attention is not None and not input_feeding
        self.join = nn.Sequential(nn.Linear(2 * size, size), nn.LayerNorm(size)) if joins else None
        self.decoder = kind(2 * size, size, batch_first=True) if input_feeding else None

    @override
    def beginning(self, batch: int) -> RecurrentState:
        """Return the state before the first word of each text."""
        weight = self.vectors.weight
        layers = len(self.layers) + (self.decoder is not None)
        zeros = weight.new_zeros(layers, batch, weight.shape[1])
        memory = weight.new_zeros(batch, 0, weight.shape[1])
        words = weight.new_full((batch,), self.words, dtype=torch.long)
        return RecurrentState(words, zeros, zeros[..., : self.cells], memory)

    def recurrent(self, words: Tensor, state: RecurrentState) -> tuple[Tensor, Tensor, Tensor]:
        """Return the outputs of the last layer, and the final states and cells of all layers.

        For words ``(batch, n)``, the outputs are ``(batch, n, size)``, and states and cells are
        ``(layers, batch, size)``. Cells of plain networks have size 0. The decoder is not among the layers.
        """
        outputs, states = self.vectors(words), []
        for layer, hidden, cell in zip(self.layers, state.hidden, state.cell, strict=False):
            outputs, last = self._through(layer, self.dropout(outputs), hidden, cell)
            states.append(last)
        return outputs, *(torch.stack(parts) for parts in zip(*states, strict=True))

    def _through(
        self, layer: nn.Module, x: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the outputs of a layer, and its final state and cell, ``(batch, size)`` each."""
        assert isinstance(layer, (nn.RNN, nn.LSTM))
        if not self.cells:
            outputs, (after,) = run_recurrent(layer, x, hidden[None])
            return outputs, (after[0], cell)
        outputs, (after, cells) = run_recurrent(layer, x, hidden[None], cell[None])
        return outputs, (after[0], cells[0])

    @override
    def read(self, words: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        outputs, hidden, cell = self.recurrent(words, state)
        if self.attention is None:
            return self.dropout(outputs), RecurrentState(words[:, -1], hidden, cell, state.memory)
        keys = torch.cat([state.memory, outputs], 1)
        if self.join is None:
            outputs, (last, last_cell) = self._decode(words, keys, state)
            hidden, cell = torch.cat([hidden, last[None]]), torch.cat([cell, last_cell[None]])
        else:
            context = self.attention.weights(outputs, keys, self._before(outputs.shape[1], keys)) @ keys
            outputs = self.join(torch.cat([outputs, context], -1))
        return self.dropout(outputs), RecurrentState(words[:, -1], hidden, cell, keys[:, -self.window :])

    def _decode(
        self, words: Tensor, keys: Tensor, state: RecurrentState
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Run the decoder word by word; return its outputs and last state. The last n keys belong to the words."""
        assert self.attention is not None
        assert self.decoder is not None
        vectors, outputs, last = self.dropout(self.vectors(words)), [], (state.hidden[-1], state.cell[-1])
        before = keys.shape[1] - words.shape[1]
        for place, vector in enumerate(vectors.split(1, 1)):
            end = before + place + 1
            seen = keys[:, max(end - self.window, 0) : end]
            query = last[0].unsqueeze(1)
            weights = self.attention.weights(
                query, seen, seen.new_ones(1, 1, seen.shape[1], dtype=torch.bool)
            )
            output, last = self._through(self.decoder, torch.cat([vector, weights @ seen], -1), *last)
            outputs.append(output)
        return torch.cat(outputs, 1), last

    def look_back(self, words: Tensor) -> tuple[Tensor, Tensor, slice]:
        """Return the inputs of attention at the last of the words ``(batch, n)``: query, keys and their positions.

        Returns:
            The query ``(batch, 1, size)``, the m keys within the window ``(batch, m, size)``, and the positions of
            their words, as a slice of the n positions.
        """
        state, n = self.beginning(len(words)), words.shape[1]
        outputs, *_ = self.recurrent(words, state)
        if self.decoder is None:
            seen = slice(max(n - 1 - self.window, 0), n - 1)
            return outputs[:, -1:], outputs[:, seen], seen
        _, before = self.read(words[:, :-1], state)
        seen = slice(max(n - self.window, 0), n)
        return before.hidden[-1].unsqueeze(1), outputs[:, seen], seen

    def _before(self, n: int, keys: Tensor) -> Tensor:
        """Return, for each of the last n keys, the mask of the keys before it within the window: ``(1, n, m)``."""
        places = torch.arange(keys.shape[1], device=keys.device)
        steps = places[-n:, None] - places
        return ((steps > 0) & (steps <= self.window)).unsqueeze(0)
