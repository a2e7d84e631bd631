"""The networks that encode numbers and decode a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from strukt.nn import (
    LSTM,
    RNN,
    AdditiveAttention,
    Attention,
    BiLSTM,
    DotProductAttention,
    Transformer,
    VariationalAttention,
)
from strukt.nn.encoder_decoder import Encoder, EncoderDecoder
from strukt.tasks.common.mean_field_attention import mean_field_attention
from strukt.tasks.common.numbers.config import NumberConfig


def encoder_decoder(config: NumberConfig) -> EncoderDecoder:
    """Build the encoder and decoder that a configuration specifies."""
    encoder = _ENCODERS[config.encoder](config)
    attention = _attention(config, encoder.size)
    ways = config.input_feeding, config.output_context
    return EncoderDecoder(encoder, config.size, config.size, attention, *ways, config.decoder, config.start)


_ENCODERS: Mapping[str, Callable[[NumberConfig], Encoder]] = {
    "bilstm": lambda config: BiLSTM(config.size, config.size),
    "lstm": lambda config: LSTM(config.size, config.size),
    "rnn": lambda config: RNN(config.size, config.size),
    "transformer": lambda config: Transformer(config.size, config.size, 2, config.heads, config.dropout),
}


def _attention(config: NumberConfig, keys: int) -> Attention | None:
    sizes = config.size, keys, config.size
    if config.attention == "mean-field":
        return mean_field_attention(config, *sizes, config.rivalry)
    if config.attention == "variational":
        return VariationalAttention(*sizes, config.prior)
    if config.attention == "none":
        return None
    return DotProductAttention(*sizes) if config.attention == "dot-product" else AdditiveAttention(*sizes)
