"""Semantic parsing as tagging: five tags for each word, which a logical form is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from strukt.data import corpus
from strukt.tasks.config import EncoderConfig, TaskConfig

if TYPE_CHECKING:
    from strukt.tasks.cogs_parser import SemanticParser

SUMMARY = "the logical form of a sentence, by five tags for each word, as for COGS"
READERS = corpus.LOGICAL_FORMS


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

    scheme: Literal["direct", "published"] = "direct"
    parents: Literal["relative", "absolute", "attention"] = "relative"
    average: Literal["words", "sentences"] = "words"
    hide: float = 0.0
    encoder: EncoderConfig = field(default_factory=_encoder)


def model_class() -> type[SemanticParser]:
    """The model of this task."""
    from strukt.tasks.cogs_parser import SemanticParser

    return SemanticParser
