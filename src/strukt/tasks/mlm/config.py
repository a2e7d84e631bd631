"""The configuration of masked language models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.encoder.config import EncoderConfig


def _words_alone() -> EncoderConfig:
    return EncoderConfig(characters="none", affixes=0, normalise=False, word_dropout=0.0, minimum_count=1)


@dataclass
class Config(TaskConfig):
    """Options of masked language models.

    Args:
        word_scores: How words are scored: by their own vectors, behind a projection to their size; directly by
            their own vectors, which then have the size of those of the encoder; or by a projection to the
            vocabulary.
        average: Whether the loss is a mean over the hidden words of a batch, or over its sentences of the means of
            each, as published for the Probabilistic Transformer.
        mask: Probability that a known word is hidden.
        longest: Longer texts are cut into pieces of so many words.
    """

    summary = "which word stands where one is hidden"
    readers = corpus.TEXTS

    word_scores: Literal["tied", "direct", "projection"] = "tied"
    average: Literal["words", "sentences"] = "words"
    mask: float = 0.3
    longest: int = 128
    encoder: EncoderConfig = field(default_factory=_words_alone)
