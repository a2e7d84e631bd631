"""Constituency parsing: the phrases of a sentence as a tree, with labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from strukt.data import corpus
from strukt.tasks.config import EncoderConfig, SpanTaskConfig, TrainerConfig

if TYPE_CHECKING:
    from strukt.tasks.constituency_parser import ConstituencyParser

SUMMARY = "the phrases of a sentence as a labelled tree"
READERS = corpus.TREES


@dataclass
class Config(SpanTaskConfig):
    """Options of the constituency parsing task.

    Args:
        tag_weight: Weight of the loss of the tags of words, which are predicted beside the tree.
        encoder: How words become vectors.
        trainer: How long, on what, and how safely.
    """

    tag_weight: float = 0.1
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(layers=3, hidden=400))
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=20, tokens=1500))


def model_class() -> type[ConstituencyParser]:
    """The model of this task."""
    from strukt.tasks.constituency_parser import ConstituencyParser

    return ConstituencyParser
