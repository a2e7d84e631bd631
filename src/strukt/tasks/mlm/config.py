"""The configuration of masked language models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.errors import SettingError
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.encoder.config import EncoderConfig


def _words_alone() -> EncoderConfig:
    return EncoderConfig(characters="none", affixes=0, normalise=False, word_dropout=0.0, minimum_count=1)


@dataclass
class Config(TaskConfig):
    """Options of masked language models.

    Args:
        word_scores: Output layer. tied: project to the size of the word embeddings, and multiply with the
            embeddings; direct: multiply with the word embeddings, which need the size of the encoder's vectors;
            projection: project to the vocabulary.
        average: Mean of the loss. words: over all hidden words of a batch; sentences: over its sentences, after
            the mean over the hidden words of each sentence, as published for the Probabilistic Transformer.
        mask: Probability of hiding a word; unknown words are never hidden.
        longest: Maximum number of words of a text; longer texts are split.
        encoder: Encoder, which computes a vector for each word; by default without characters, affixes
            or word dropout, with normalise false, and with minimum_count 1.
    """

    summary = "the hidden words of a text (masked language model)"
    readers = corpus.TEXTS

    word_scores: Literal["tied", "direct", "projection"] = "tied"
    average: Literal["words", "sentences"] = "words"
    mask: float = 0.3
    longest: int = 128
    encoder: EncoderConfig = field(default_factory=_words_alone)

    def require_fitting(self) -> None:
        super().require_fitting()
        if self.encoder.kind == "pretrained":
            raise SettingError(
                "--encoder.kind pretrained has no word embeddings to score hidden words by; choose another kind"
            )
        self.encoder.require_context()
