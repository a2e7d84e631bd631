"""An encoder and a decoder, with any attention between them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.kernels.lengths import Lengths
from strukt.nn.attention import Attention
from strukt.nn.encoders import LSTM, BiLSTM
from strukt.nn.inputs import lengths_of, require_same_batch, require_sizes, require_vectors
from strukt.nn.mean_field_encoder import MeanFieldEncoder
from strukt.nn.transformer import Transformer

Encoder = LSTM | BiLSTM | Transformer | MeanFieldEncoder


class State(NamedTuple):
    """Where a decoder stands: ``hidden`` and ``cell``, ``(1, batch, hidden)`` each."""

    hidden: Tensor
    cell: Tensor


class Memory(NamedTuple):
    """What a decoder knows of the input.

    Attributes:
        keys: ``(batch, n, keys)``, what the encoder made of each position.
        lengths: ``(batch,)``.
        state: In which the decoder begins.
    """

    keys: Tensor
    lengths: Tensor
    state: State


class Decoded(NamedTuple):
    """Some steps of a decoder.

    Attributes:
        hidden: ``(batch, t, hidden)``, its states, which are the queries of the attention.
        context: ``(batch, t, keys)``, what they attended to; of size 0 without attention.
        weights: ``(batch, t, n)``, of the positions; None without attention.
        state: Behind the last step.
    """

    hidden: Tensor
    context: Tensor
    weights: Tensor | None
    state: State

    @property
    def outputs(self) -> Tensor:
        """``(batch, t, hidden + keys)``: states and contexts side by side."""
        return torch.cat([self.hidden, self.context], -1)


class EncoderDecoder(nn.Module):
    """An LSTM that makes a sequence of another one, whose positions its hidden states attend to.

    With attention the decoder begins with zeros, so that all that it knows of the input is what it attends to.
    Without, it begins with a projection of what the encoder gives at the first and the last position.

    Contexts are not fed back. Hence all steps are computed at once where the inputs of the decoder are known.

    Source: Liu Ziyin et al. (2018), "Relational attention networks via fully-connected conditional random fields",
    algorithm 2; Luong et al. (2015), "Effective approaches to attention-based neural machine translation", for
    contexts beside the states.

    Args:
        encoder: From vectors ``(batch, n, inputs)`` and lengths to vectors of its size.
        inputs: Size of the vectors that the decoder reads.
        hidden: Size of its state.
        attention: Of queries of size ``hidden`` over keys of the size of the encoder; None for none.

    Attributes:
        size: Of the outputs of each step.

    Examples:
        >>> from strukt.nn import BiLSTM, MeanFieldAttention
        >>> network = EncoderDecoder(BiLSTM(8, 16), 8, 12, MeanFieldAttention(12, 32, 16, iterations=5))
        >>> decoded = network(torch.randn(2, 5, 8), torch.tensor([5, 3]), torch.randn(2, 4, 8))
        >>> decoded.outputs.shape, decoded.weights.shape
        (torch.Size([2, 4, 44]), torch.Size([2, 4, 5]))
    """

    def __init__(
        self, encoder: Encoder, inputs: int, hidden: int, attention: Attention | None = None
    ) -> None:
        super().__init__()
        require_sizes(inputs=inputs, hidden=hidden)
        self.encoder, self.attention = encoder, attention
        self.decoder = nn.LSTM(inputs, hidden, batch_first=True)
        self.beginning = nn.Linear(2 * encoder.size, 2 * hidden) if attention is None else None
        self.size = hidden + (0 if attention is None else encoder.size)

    def forward(self, x: Tensor, lengths: Lengths | None, inputs: Tensor) -> Decoded:
        """All steps at once.

        Args:
            x: ``(batch, n, inputs)``, the input sequence; the padding is ignored.
            lengths: ``(batch,)``; all n if None.
            inputs: ``(batch, t, inputs)``, what the decoder reads.

        Raises:
            ValueError: If shapes do not fit, or a length is not between 0 and n.
        """
        return self.decode(inputs, self.encode(x, lengths))

    def encode(self, x: Tensor, lengths: Lengths | None = None) -> Memory:
        """What the decoder will know of ``x``."""
        lengths = lengths_of("x", x, self.encoder.inputs, lengths)
        keys: Tensor = self.encoder(x, lengths)
        return Memory(keys, lengths, self._begin(keys, lengths))

    def decode(self, inputs: Tensor, memory: Memory, state: State | None = None) -> Decoded:
        """The next steps.

        Args:
            inputs: ``(batch, t, inputs)``.
            memory: What `encode` gave.
            state: Behind the steps before; that of the beginning if None.
        """
        require_vectors("inputs", inputs, self.decoder.input_size)
        require_same_batch(x=memory.keys, inputs=inputs)
        state = memory.state if state is None else state
        hidden = inputs.new_zeros(*inputs.shape[:2], self.decoder.hidden_size)
        if hidden.numel():
            hidden, last = self.decoder(inputs, tuple(state))
            state = State(*last)
        if self.attention is None:
            return Decoded(hidden, hidden[..., :0], None, state)
        attended = self.attention(hidden, memory.keys, memory.lengths)
        return Decoded(hidden, attended.context, attended.weights, state)

    def _begin(self, keys: Tensor, lengths: Tensor) -> State:
        if self.beginning is None:
            zeros = keys.new_zeros(1, len(keys), self.decoder.hidden_size)
            return State(zeros, zeros)
        if not keys.shape[1]:
            keys = keys.new_zeros(len(keys), 1, keys.shape[2])
        last = keys.take_along_dim((lengths - 1).clamp(min=0)[:, None, None], 1)
        ends = torch.cat([keys[:, 0], last[:, 0]], -1)
        hidden, cell = self.beginning(ends).unsqueeze(0).chunk(2, -1)
        return State(hidden.contiguous(), cell.contiguous())
