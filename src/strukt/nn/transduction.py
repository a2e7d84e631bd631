"""Sequences of symbols into other sequences of symbols, or into numbers, by an encoder and a decoder."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.nn.dropout import SharedDropout
from strukt.nn.encoder_decoder import Decoded, EncoderDecoder, Memory, State
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import lengths_of_symbols, require_same_batch, require_sizes


class Greedy(NamedTuple):
    """The most probable symbol of each step, given those before it.

    Attributes:
        symbols: ``(batch, t)``.
        log_probs: ``(batch, t)``, theirs.
    """

    symbols: Tensor
    log_probs: Tensor


class SymbolReader(nn.Module):
    """What transducers and regressors have in common: vectors of symbols around an encoder and a decoder.

    Args:
        symbols: Number of symbols.
        inputs: Size of their vectors, which encoder and decoder read.
        network: The encoder and decoder.
        outputs: Size of what is predicted at each step.
        dropout: Of vectors and outputs.
    """

    def __init__(
        self, symbols: int, inputs: int, network: EncoderDecoder, outputs: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        require_sizes(symbols=symbols, inputs=inputs)
        self.symbols = symbols
        self.vectors = nn.Embedding(symbols + 1, inputs)  # the last one is that of the beginning
        self.network = network
        self.output = nn.Linear(network.size, outputs)
        self.dropout = SharedDropout(dropout)

    def read(self, x: Tensor, lengths: Lengths | None = None) -> Memory:
        """Encodes symbols ``(batch, n)`` for the decoder; the padding may hold anything.

        Raises:
            ValueError: If shapes do not fit, a length is not between 0 and n, or a symbol is none of the model.
        """
        lengths = lengths_of_symbols("x", x, lengths, self.symbols)
        return self.network.encode(self._vectors(x.masked_fill(~mask_of(lengths, x.shape[1]), 0)), lengths)

    def steps(self, memory: Memory, symbols: Tensor, state: State | None = None) -> Decoded:
        """Steps of the decoder that reads symbols ``(batch, t)``."""
        return self.network.decode(self._vectors(symbols), memory, state)

    def first(self, batch: int) -> Tensor:
        """The symbol before the first one: ``(batch, 1)``."""
        return torch.full((batch, 1), self.vectors.num_embeddings - 1, device=self.vectors.weight.device)

    def predicted(self, decoded: Decoded) -> Tensor:
        """``(batch, t, outputs)``."""
        found: Tensor = self.output(self.dropout(decoded.outputs))
        return found

    def _vectors(self, symbols: Tensor) -> Tensor:
        found: Tensor = self.dropout(self.vectors(symbols))
        return found


class SequenceTransducer(SymbolReader):
    """Predicts a sequence of symbols from another one, each symbol given those before it.

    Args:
        symbols: Number of symbols, v, of input and output.
        inputs: Size of their vectors, which encoder and decoder read.
        network: The encoder and decoder.
        dropout: Of vectors and outputs.

    Examples:
        >>> from strukt.nn import LSTM, AdditiveAttention
        >>> network = EncoderDecoder(LSTM(8, 16), 8, 12, AdditiveAttention(12, 16, 16))
        >>> transducer = SequenceTransducer(10, 8, network)
        >>> x, lengths = torch.tensor([[3, 1, 2], [5, 4, 0]]), torch.tensor([3, 2])
        >>> transducer(x, lengths, torch.tensor([[1, 2, 3], [4, 5, 0]])).shape
        torch.Size([2, 3, 10])
        >>> transducer.greedy(transducer.read(x, lengths), steps=3).symbols.shape
        torch.Size([2, 3])
    """

    def __init__(self, symbols: int, inputs: int, network: EncoderDecoder, dropout: float = 0.0) -> None:
        super().__init__(symbols, inputs, network, symbols, dropout)

    def forward(self, x: Tensor, lengths: Lengths | None, y: Tensor) -> Tensor:
        """The log-probability of each symbol at each step, given those of ``y`` before: ``(batch, t, v)``.

        Args:
            x: ``(batch, n)``, the symbols that come in; the padding may hold any.
            lengths: ``(batch,)``, theirs; all n if None.
            y: ``(batch, t)``, the symbols that go out, the last of which is not read.
        """
        return self.predicted(self.decoded(self.read(x, lengths), y)).log_softmax(-1)

    def decoded(self, memory: Memory, y: Tensor) -> Decoded:
        """The steps that predict each symbol of ``y`` from those before it."""
        lengths_of_symbols("y", y, None, self.symbols)
        require_same_batch(x=memory.keys, y=y)
        return self.steps(memory, torch.cat([self.first(len(y)), y], 1)[:, : y.shape[1]])

    def greedy(self, memory: Memory, steps: int) -> Greedy:
        """The most probable symbols, one after the other.

        Args:
            memory: What `read` gave.
            steps: How many.
        """
        batch = len(memory.keys)
        state, symbol = memory.state, self.first(batch)
        found: list[tuple[Tensor, Tensor]] = []
        for _ in range(steps):
            decoded = self.steps(memory, symbol, state)
            state = decoded.state
            log_prob, symbol = self.predicted(decoded).log_softmax(-1).max(-1)
            found.append((symbol, log_prob))
        if not found:
            return Greedy(symbol[:, :0], memory.keys.new_zeros(batch, 0))
        return Greedy(*(torch.cat(parts, 1) for parts in zip(*found, strict=True)))


class SequenceRegressor(SymbolReader):
    """Predicts a number from a sequence of symbols, by one step of the decoder.

    Args:
        symbols: Number of symbols.
        inputs: Size of their vectors, which encoder and decoder read.
        network: The encoder and decoder.
        dropout: Of vectors and outputs.

    Examples:
        >>> from strukt.nn import LSTM, AdditiveAttention
        >>> network = EncoderDecoder(LSTM(8, 16), 8, 12, AdditiveAttention(12, 16, 16))
        >>> regressor = SequenceRegressor(2, 8, network)
        >>> regressor(torch.tensor([[0, 1, 1], [1, 0, 0]]), torch.tensor([3, 2])).shape
        torch.Size([2])
    """

    def __init__(self, symbols: int, inputs: int, network: EncoderDecoder, dropout: float = 0.0) -> None:
        super().__init__(symbols, inputs, network, 1, dropout)

    def forward(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Numbers ``(batch,)``.

        Args:
            x: ``(batch, n)``, the symbols; the padding may hold any.
            lengths: ``(batch,)``; all n if None.
        """
        return self.predicted(self.decoded(self.read(x, lengths)))[:, 0, 0]

    def decoded(self, memory: Memory) -> Decoded:
        """The one step of the decoder."""
        return self.steps(memory, self.first(len(memory.keys)))
