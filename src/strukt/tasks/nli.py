"""Natural language inference: whether a hypothesis follows from a premise, contradicts it, or neither."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from strukt.data import corpus
from strukt.tasks.classify import LatentTreeConfig
from strukt.tasks.config import EncoderConfig, TaskConfig

if TYPE_CHECKING:
    from strukt.tasks.entailment_model import EntailmentModel

SUMMARY = "what a premise says of a hypothesis, along an alignment of their words or by latent trees"
READERS = corpus.PAIRS


def _encoder() -> EncoderConfig:
    return EncoderConfig(kind="none", words=200, characters="none", affixes=0)


@dataclass
class Config(TaskConfig):
    """Options of natural language inference.

    Args:
        encoder: How words become vectors; by default without their sentence and without their spelling.
        model: Whether the sentences are compared word by word, or by vectors of trees of each.
        attention: How the words of both are aligned; see `strukt.nn.StructuredAttention`.
        iterations: Rounds after which the factors of lp-matching and lp-sequence are left as they are; 0 for as
            many as they need.
        scaled_scores: Whether scores of pairs of words are divided by the root of the size, other than in the
            published models.
        size: Size of the hidden layers of the comparison.
        latent: Which trees, for model latent-tree.
    """

    encoder: EncoderConfig = field(default_factory=_encoder)
    model: Literal["attention", "latent-tree"] = "attention"
    attention: Literal["softmax", "matching", "lp-matching", "lp-sequence", "crf"] = "softmax"
    iterations: int = 0
    scaled_scores: bool = True
    size: int = 100
    latent: LatentTreeConfig = field(default_factory=LatentTreeConfig)


def model_class() -> type[EntailmentModel]:
    """The model of this task."""
    from strukt.tasks.entailment_model import EntailmentModel

    return EntailmentModel
