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
        scheme: What the tags are: a noun that says more of another hangs from it directly; or, as published, from
            the preposition between them, which hangs from the other.
        parents: How a parent is predicted: as its offset from the word; as its place in the sentence; or by
            attention to it.
        average: Whether the loss is a mean over the words of a batch, or over its sentences of the means of each,
            as published for the Probabilistic Transformer.
        hide: Probability that a word is hidden in training: what it does in the sentence is then learned from the
            words around it alone, and it is not asked which verb it is.
        encoder: How words become vectors; by default without their spelling, which tells nothing here.
    """

    summary = "the logical form of a sentence, by five tags for each word, as for COGS"
    readers = corpus.LOGICAL_FORMS

    scheme: Literal["direct", "published"] = "direct"
    parents: Literal["relative", "absolute", "attention"] = "relative"
    average: Literal["words", "sentences"] = "words"
    hide: float = 0.0
    encoder: EncoderConfig = field(default_factory=_encoder)
