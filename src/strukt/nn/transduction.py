"""Sequence transduction and regression: encoder-decoders from symbols to symbols, or to a number."""

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
    """The result of greedy decoding: the most probable symbol of each step, given the symbols before it.

    Attributes:
        symbols: ``(batch, t)`` for t steps.
        log_probs: ``(batch, t)``, the log-probability of each symbol.
    """

    symbols: Tensor
    log_probs: Tensor


class SymbolReader(nn.Module):
    """The base class of transducers and regressors: symbol embeddings, an encoder and a decoder.

    Args:
        symbols: Number of symbols.
        inputs: Size of the symbol vectors, which encoder and decoder read.
        network: The encoder and decoder.
        outputs: Size of the prediction at each step.
        dropout: Dropout of vectors and outputs.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.
    """

    def __init__(
        self, symbols: int, inputs: int, network: EncoderDecoder, outputs: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        require_sizes(symbols=symbols, inputs=inputs)
        self.symbols = symbols
        self.vectors = nn.Embedding(symbols + 1, inputs)  # the last row is the start symbol
        self.network = network
        self.output = nn.Linear(network.size, outputs)
        self.dropout = SharedDropout(dropout)

    def read(self, x: Tensor, lengths: Lengths | None = None) -> Memory:
        """Encode symbols for the decoder.

        Args:
            x: ``(batch, n)``, the input symbols, numbered from 0; the padding may hold any numbers.
            lengths: ``(batch,)``; all n if None.

        Raises:
            ValueError: If a shape is wrong, a length is not between 0 and n, or a symbol is out of range.
        """
        lengths = lengths_of_symbols("x", x, lengths, self.symbols)
        return self.network.encode(self._vectors(x.long().masked_fill(~mask_of(lengths, x.shape[1]), 0)), lengths)

    def steps(self, memory: Memory, symbols: Tensor, state: State | None = None) -> Decoded:
        """Run the decoder over the next symbols.

        Args:
            memory: The result of `read`.
            symbols: ``(batch, t)``, the symbols that the decoder reads, one for each step; first the start symbol.
            state: The state after the previous steps; the initial state if None.

        Raises:
            ValueError: If the symbols are not ``(batch, t)``, or their batch differs from that of the memory.
            IndexError: If a symbol is out of range, on the CPU.
        """
        return self.network.decode(self._vectors(symbols), memory, state)

    def first(self, batch: int) -> Tensor:
        """Return the start symbol: ``(batch, 1)``."""
        return torch.full((batch, 1), self.vectors.num_embeddings - 1, device=self.vectors.weight.device)

    def predicted(self, decoded: Decoded) -> Tensor:
        """Return the output layer's scores or numbers for each step of the decoder: ``(batch, t, outputs)``."""
        result: Tensor = self.output(self.dropout(decoded.outputs))
        return result

    def _vectors(self, symbols: Tensor) -> Tensor:
        result: Tensor = self.dropout(self.vectors(symbols.long()))
        return result


class SequenceTransducer(SymbolReader):
    """A sequence transducer (seq2seq): predicts the symbols of one sequence from another, left to right.

    Source: Sutskever, Vinyals and Le (2014); with attention, Bahdanau, Cho and Bengio (2015).

    Args:
        symbols: Number of symbols, v, of input and output.
        inputs: Size of the symbol vectors, which encoder and decoder read.
        network: The encoder and decoder.
        dropout: Dropout of vectors and outputs.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.

    Examples:
        >>> from strukt.nn import EncoderDecoder
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
        """Return the log-probability of each symbol at each step, given ``y`` before the step: ``(batch, t, v)``.

        Args:
            x: ``(batch, n)``, the input symbols; the padding may hold any numbers.
            lengths: ``(batch,)``, the lengths of ``x``; all n if None.
            y: ``(batch, t)``, the output symbols; the last one is not read. The padding may
                hold any symbols from 0 to v - 1, but not -1 or -100.

        Raises:
            ValueError: If a shape is wrong, a length is not between 0 and n, or a symbol is out of range.
        """
        return self.predicted(self.decoded(self.read(x, lengths), y)).log_softmax(-1)

    def decoded(self, memory: Memory, y: Tensor) -> Decoded:
        """Return the decoder steps that predict each symbol of ``y`` from the symbols before it.

        Args:
            memory: The result of `read`.
            y: ``(batch, t)``, the output symbols; the last one is not read.

        Raises:
            ValueError: If ``y`` is not ``(batch, t)``, its batch differs from that of the memory, or a symbol is
                out of range.
        """
        lengths_of_symbols("y", y, None, self.symbols)
        require_same_batch(x=memory.keys, y=y)
        return self.steps(memory, torch.cat([self.first(len(y)), y.long()], 1)[:, : y.shape[1]])

    def greedy(self, memory: Memory, steps: int) -> Greedy:
        """Decode greedily: choose the most probable symbol at each step, for a fixed number of steps.

        Args:
            memory: The result of `read`.
            steps: Number of steps, t.

        Returns:
            The symbols and their log-probabilities, ``(batch, t)`` each.

        Raises:
            ValueError: If ``steps`` is negative.
        """
        if steps < 0:
            raise ValueError(f"steps is {steps}; expected 0 or more")
        batch = len(memory.keys)
        state, symbol = memory.state, self.first(batch)
        chosen: list[tuple[Tensor, Tensor]] = []
        for _ in range(steps):
            decoded = self.steps(memory, symbol, state)
            state = decoded.state
            log_prob, symbol = self.predicted(decoded).log_softmax(-1).max(-1)
            chosen.append((symbol, log_prob))
        if not chosen:
            return Greedy(symbol[:, :0], memory.keys.new_zeros(batch, 0))
        return Greedy(*(torch.cat(parts, 1) for parts in zip(*chosen, strict=True)))


class SequenceRegressor(SymbolReader):
    """A sequence regressor: predicts a number from a sequence of symbols, in one step of the decoder.

    Args:
        symbols: Number of symbols.
        inputs: Size of the symbol vectors, which encoder and decoder read.
        network: The encoder and decoder.
        dropout: Dropout of vectors and outputs.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.

    Examples:
        >>> from strukt.nn import EncoderDecoder
        >>> from strukt.nn import LSTM, AdditiveAttention
        >>> network = EncoderDecoder(LSTM(8, 16), 8, 12, AdditiveAttention(12, 16, 16))
        >>> regressor = SequenceRegressor(2, 8, network)
        >>> regressor(torch.tensor([[0, 1, 1], [1, 0, 0]]), torch.tensor([3, 2])).shape
        torch.Size([2])
    """

    def __init__(self, symbols: int, inputs: int, network: EncoderDecoder, dropout: float = 0.0) -> None:
        super().__init__(symbols, inputs, network, 1, dropout)

    def forward(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the predicted numbers, ``(batch,)``.

        Args:
            x: ``(batch, n)``, the symbols; the padding may hold any numbers.
            lengths: ``(batch,)``; all n if None.

        Raises:
            ValueError: If a shape is wrong, a length is not between 0 and n, or a symbol is out of range.
        """
        return self.predicted(self.decoded(self.read(x, lengths)))[:, 0, 0]

    def decoded(self, memory: Memory) -> Decoded:
        """Run the single step of the decoder, on the result `memory` of `read`."""
        return self.steps(memory, self.first(len(memory.keys)))
