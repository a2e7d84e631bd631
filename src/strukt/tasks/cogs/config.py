"""The configuration of semantic parsing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.encoder.config import EncoderConfig


def _encoder() -> EncoderConfig:
    return EncoderConfig(minimum_count=1, word_dropout=0.0, characters="none", affixes=0)


@dataclass
class Config(TaskConfig):
    """Options of the semantic parsing task.

    Args:
        scheme: Tagging scheme. The two differ mainly in nouns that modify another noun. direct: their parent is
            that noun; published: their parent is the preposition between them, whose parent is that noun.
        parents: Prediction of parents. relative: classify the offset from the word; absolute: classify the
            position in the sentence; attention: attend to the parent.
        average: Mean of the loss. words: over all words of a batch; sentences: over its sentences, after the
            mean over the words of each sentence, as published for the Probabilistic Transformer.
        hide: Probability of hiding a word in training. Its tags are then learned from its context alone, except
            the tag verb, which is not learned.
        encoder: Encoder, which computes a vector for each word; by default without characters, affixes
            or word dropout, and with minimum_count 1.
    """

    summary = "the logical form of a sentence, as five tags for each word (COGS)"
    readers = corpus.LOGICAL_FORMS

    scheme: Literal["direct", "published"] = "direct"
    parents: Literal["relative", "absolute", "attention"] = "relative"
    average: Literal["words", "sentences"] = "words"
    hide: float = 0.0
    encoder: EncoderConfig = field(default_factory=_encoder)
