"""The networks of language models, built from a configuration."""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from strukt.nn import (
    CompoundPCFG,
    KneserNey,
    MeanFieldEncoder,
    NeuralHMM,
    NeuralPCFG,
    Transformer,
)
from strukt.nn.causal import CausalLanguageModel
from strukt.nn.recurrent import RecurrentLanguageModel
from strukt.tasks.common.mean_field_attention import mean_field_attention
from strukt.tasks.lm.config import GRAMMARS, Config


def source_of(config: Config, words: int) -> nn.Module:
    """Build the network, or the n-gram counts, that a configuration specifies.

    Args:
        config: The options of the language model.
        words: Size of the vocabulary.
    """
    if config.model == "ngram":
        return KneserNey(words, config.order)
    if config.model in ("rnn", "lstm", "mfa"):
        return _recurrent(config, words)
    if config.model in ("pt", "transformer"):
        return CausalLanguageModel(
            words, config.size, _causal_encoder(config), config.dropout, config.context
        )
    rank = config.rank if config.model.startswith("lowrank") else None
    if config.model in GRAMMARS:
        sizes = config.nonterminals, config.preterminals, words, rank, config.size
        return CompoundPCFG(*sizes, config.latent) if config.latent else NeuralPCFG(*sizes)
    return NeuralHMM(
        config.states,
        words,
        rank,
        config.size,
        config.features,
        blocks=torch.arange(words) % config.blocks if config.blocks else None,
        state_dropout=config.state_dropout,
        feature_dropout=config.feature_dropout,
        temperature=config.temperature,
        vectors=config.vectors,
    )


def _recurrent(config: Config, words: int) -> RecurrentLanguageModel:
    attention = None
    if config.model == "mfa":
        attention = mean_field_attention(config, config.size, config.size, config.rank)
    sizes = words, config.size, config.layers
    cell: Literal["rnn", "lstm"] = "rnn" if config.model == "rnn" else "lstm"
    return RecurrentLanguageModel(
        *sizes, config.dropout, attention, config.context, cell, config.input_feeding
    )


def _causal_encoder(config: Config) -> Transformer | MeanFieldEncoder:
    if config.model == "transformer":
        size, layers, heads = config.size, config.layers, config.heads
        return Transformer(size, size, layers, heads, config.dropout, causal=True)
    return MeanFieldEncoder(
        config.size,
        config.size,
        channels=config.heads,
        iterations=config.iterations,
        rank=config.rank,
        decomposition="weighted",
        dropout=config.dropout,
        causal=True,
    )
