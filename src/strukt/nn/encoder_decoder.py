"""Sequence-to-sequence (seq2seq) networks: an encoder and a recurrent decoder, with any attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.inference.settings import require_one_of
from strukt.nn.attention import Attended, Attention
from strukt.nn.encoders import CELLS, LSTM, RNN, BiLSTM
from strukt.nn.inputs import lengths_of, require_same_batch, require_sizes, require_vectors
from strukt.nn.mean_field_encoder import MeanFieldEncoder
from strukt.nn.transformer import Transformer

Encoder = RNN | LSTM | BiLSTM | Transformer | MeanFieldEncoder


class State(NamedTuple):
    """The state of a decoder.

    Attributes:
        hidden: ``(1, batch, hidden)``.
        cell: ``(1, batch, hidden)``, the cell of an LSTM; ``(1, batch, 0)`` for a plain recurrent network.
    """

    hidden: Tensor
    cell: Tensor


class Memory(NamedTuple):
    """The encoded input of a decoder.

    Attributes:
        keys: ``(batch, n, keys)``, the output of the encoder at each position.
        lengths: ``(batch,)``, the lengths of the inputs.
        state: The initial state of the decoder.
    """

    keys: Tensor
    lengths: Tensor
    state: State


class Decoded(NamedTuple):
    """The result of t steps of a decoder.

    Attributes:
        hidden: ``(batch, t, hidden)``, the states after each step.
        context: ``(batch, t, keys)``, the context of each step; ``(batch, t, 0)`` without attention.
        weights: ``(batch, t, n)``, the attention weights of the n input positions; None without attention.
        state: The state after the last step.
        queries: ``(batch, t, hidden)``, the queries of attention: with input feeding the states before each step,
            without it `hidden`.
        outputs: ``(batch, t, size)``, the vectors for predictions: the states, by default with the contexts
            concatenated.
        divergence: ``(batch, t)``, the Kullback-Leibler (KL) divergence of the distribution of each context from
            its prior, in nats; None except for `VariationalAttention`.
    """

    hidden: Tensor
    context: Tensor
    weights: Tensor | None
    state: State
    queries: Tensor
    outputs: Tensor
    divergence: Tensor | None = None


class EncoderDecoder(nn.Module):
    """A sequence-to-sequence (seq2seq) network: an encoder, and a recurrent decoder with or without attention.

    With attention, the decoder starts from zeros, so that it sees the input only through attention. Without
    attention, it starts from a projection of the outputs of the encoder at the first and the last position, or, in
    the published form, from the output at the last position as its hidden state.

    A context can reach the output in two ways. With input feeding, as in the published form, the query is the
    state before a step, and the decoder reads the context with its input: d_t = Decoder(d_{t-1}, c_t). The steps
    are then computed one by one. Without input feeding, the query is the state after a step, and one call computes
    all steps whose inputs are known. With `output_context`, the context is concatenated with the state for
    prediction.

    Source: Liu Ziyin et al. (2019), "Relational attention networks via fully-connected conditional random
    fields", algorithm 2, with input feeding and without the context in the output; Luong et al. (2015),
    "Effective approaches to attention-based neural machine translation", for contexts concatenated with states.

    Args:
        encoder: Maps vectors ``(batch, n, encoder.inputs)`` and lengths to vectors ``(batch, n, encoder.size)``.
        inputs: Size of the vectors that the decoder reads.
        hidden: Size of the state of the decoder.
        attention: Attention of queries of size ``hidden`` over keys of the encoder's size; None for no attention.
        input_feeding: Whether the decoder reads the context of the previous state in addition to its input.
        output_context: Whether the outputs contain the context in addition to the state.
        decoder: ``lstm`` for an LSTM, or ``rnn`` for a plain recurrent network.
        start: Positions of the encoder from which the decoder starts without attention: ``ends``, the first and
            the last, or only the ``last``. Unused with attention.

    Attributes:
        size: Size of the outputs of each step.

    Raises:
        ValueError: If a size is less than 1, input feeding is requested without attention, there is attention but
            neither input feeding nor `output_context`, `decoder` or `start` is unknown, or the decoder starts
            without attention from the ``last`` position and the encoder's size is not `hidden`.

    Examples:
        >>> from strukt.nn import BiLSTM, MeanFieldAttention
        >>> network = EncoderDecoder(BiLSTM(8, 16), 8, 12, MeanFieldAttention(12, 32, 16, iterations=5))
        >>> decoded = network(torch.randn(2, 5, 8), torch.tensor([5, 3]), torch.randn(2, 4, 8))
        >>> decoded.outputs.shape, decoded.weights.shape
        (torch.Size([2, 4, 44]), torch.Size([2, 4, 5]))
    """

    def __init__(
        self,
        encoder: Encoder,
        inputs: int,
        hidden: int,
        attention: Attention | None = None,
        input_feeding: bool = False,
        output_context: bool = True,
        decoder: Literal["lstm", "rnn"] = "lstm",
        start: Literal["ends", "last"] = "ends",
    ) -> None:
        super().__init__()
        require_sizes(inputs=inputs, hidden=hidden)
        require_one_of("decoder", decoder, tuple(CELLS))
        require_one_of("start", start, ("ends", "last"))
        if attention is None and input_feeding:
            raise ValueError("input_feeding is True without attention; there is no context to feed in")
        if attention is not None and not (input_feeding or output_context):
            raise ValueError(
                "input_feeding and output_context are both False; expected at least one, or contexts are unused"
            )
        self.encoder, self.attention = encoder, attention
        self.inputs, self.input_feeding = inputs, input_feeding
        self.output_context = output_context and attention is not None
        if attention is None and start == "last" and encoder.size != hidden:
            raise ValueError(
                f"hidden is {hidden}, and the encoder has vectors of size {encoder.size}; expected equal sizes "
                "for start='last', or use start='ends'"
            )
        self.decoder = CELLS[decoder](inputs + encoder.size * input_feeding, hidden, batch_first=True)
        self.cells = hidden if decoder == "lstm" else 0
        from_ends = attention is None and start == "ends"
        self.beginning = nn.Linear(2 * encoder.size, hidden + self.cells) if from_ends else None
        self.size = hidden + encoder.size * self.output_context

    def forward(self, x: Tensor, lengths: Lengths | None, inputs: Tensor) -> Decoded:
        """Encode the input and run all steps of the decoder.

        Args:
            x: ``(batch, n, encoder.inputs)``, the input sequence; padding is ignored.
            lengths: ``(batch,)``; all n if None.
            inputs: ``(batch, t, inputs)``, the inputs of the decoder.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        return self.decode(inputs, self.encode(x, lengths))

    def encode(self, x: Tensor, lengths: Lengths | None = None) -> Memory:
        """Encode ``x`` for the decoder.

        Args:
            x: ``(batch, n, encoder.inputs)``, the input sequence; padding is ignored.
            lengths: ``(batch,)``; all n if None.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        lengths = lengths_of("x", x, self.encoder.inputs, lengths)
        keys: Tensor = self.encoder(x, lengths)
        return Memory(keys, lengths, self._begin(keys, lengths))

    def decode(self, inputs: Tensor, memory: Memory, state: State | None = None) -> Decoded:
        """Run the next steps of the decoder.

        Args:
            inputs: ``(batch, t, inputs)``.
            memory: The result of `encode`.
            state: The state after the previous steps; the initial state if None.

        Returns:
            `Decoded` with ``t`` steps.

        Raises:
            ValueError: If inputs is not ``(batch, t, inputs)``, or its batch differs from that of the memory.
        """
        require_vectors("inputs", inputs, self.inputs)
        require_same_batch(x=memory.keys, inputs=inputs)
        state = memory.state if state is None else state
        if self.input_feeding and inputs.shape[1]:
            return self._fed(inputs, memory, state)
        hidden, state = self._steps(inputs, state)
        if self.attention is None:
            return Decoded(hidden, hidden[..., :0], None, state, hidden, hidden)
        attended = self.attention(hidden, memory.keys, memory.lengths)
        return self._decoded(hidden, attended, state, hidden)

    def _fed(self, inputs: Tensor, memory: Memory, state: State) -> Decoded:
        """Run the steps one by one, with input feeding: each step reads the context of the state before it."""
        assert self.attention is not None
        queries, steps, states = [], [], []
        for step in torch.split(inputs, 1, 1):
            query = state.hidden.transpose(0, 1)
            attended = self.attention(query, memory.keys, memory.lengths)
            hidden, state = self._steps(torch.cat([step, attended.context], -1), state)
            queries.append(query)
            steps.append(attended)
            states.append(hidden)
        return self._decoded(torch.cat(states, 1), _joined(steps), state, torch.cat(queries, 1))

    def _decoded(self, hidden: Tensor, attended: Attended, state: State, queries: Tensor) -> Decoded:
        context, weights, divergence = attended
        outputs = torch.cat([hidden, context], -1) if self.output_context else hidden
        return Decoded(hidden, context, weights, state, queries, outputs, divergence)

    def _steps(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the hidden states ``(batch, t, hidden)`` of the decoder, and the state after the last step."""
        if not inputs.shape[0] * inputs.shape[1]:
            return inputs.new_zeros(*inputs.shape[:2], self.decoder.hidden_size), state
        if isinstance(self.decoder, nn.LSTM):
            hidden, last = self.decoder(inputs, tuple(state))
            return hidden, State(*last)
        hidden, last = self.decoder(inputs, state.hidden)
        return hidden, State(last, state.cell)

    def _begin(self, keys: Tensor, lengths: Tensor) -> State:
        """Return the initial state of the decoder: zeros, or from the outputs of the encoder; see the class."""
        if self.attention is not None:
            zeros = keys.new_zeros(1, len(keys), self.decoder.hidden_size)
            return State(zeros, zeros[..., : self.cells])
        if not keys.shape[1]:
            keys = keys.new_zeros(len(keys), 1, keys.shape[2])
        last = keys.take_along_dim((lengths - 1).clamp(min=0)[:, None, None], 1)[:, 0]
        if self.beginning is None:
            return State(last.unsqueeze(0), last.new_zeros(1, len(keys), self.cells))
        both = self.beginning(torch.cat([keys[:, 0], last], -1)).unsqueeze(0)
        hidden, cell = both.split([self.decoder.hidden_size, self.cells], -1)
        return State(hidden.contiguous(), cell.contiguous())


def _joined(steps: Sequence[Attended]) -> Attended:
    """Concatenate the results of attention along the axis of queries."""
    contexts, weights, divergences = zip(*steps, strict=True)
    divergence = None if divergences[0] is None else torch.cat(divergences, 1)
    return Attended(torch.cat(contexts, 1), torch.cat(weights, 1), divergence)
