"""Masked language models: which word stands where one is hidden."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from strukt.data import corpus
from strukt.tasks.config import EncoderConfig, TaskConfig

if TYPE_CHECKING:
    from strukt.tasks.masked_language_model import MaskedLanguageModel

SUMMARY = "which word stands where one is hidden"
READERS = corpus.TEXTS


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

    word_scores: Literal["tied", "direct", "projection"] = "tied"
    average: Literal["words", "sentences"] = "words"
    mask: float = 0.3
    longest: int = 128
    encoder: EncoderConfig = field(default_factory=_words_alone)


def model_class() -> type[MaskedLanguageModel]:
    """The model of this task."""
    from strukt.tasks.masked_language_model import MaskedLanguageModel

    return MaskedLanguageModel
