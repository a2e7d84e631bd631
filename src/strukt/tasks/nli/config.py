"""The configuration of natural language inference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.tasks.common.classes.config import LATENT_TREE_USES, LatentTreeConfig
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.uses import Use


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

    summary = "what a premise says of a hypothesis, along an alignment of their words or by latent trees"
    readers = corpus.PAIRS
    uses = (
        *LATENT_TREE_USES,
        Use.by_choice(["attention", "scaled_scores"], "model", "attention"),
        Use(
            ["iterations"],
            "--attention lp-matching or lp-sequence",
            lambda config: config.model == "attention" and config.attention in ("lp-matching", "lp-sequence"),
        ),
    )

    encoder: EncoderConfig = field(default_factory=_encoder)
    model: Literal["attention", "latent-tree"] = "attention"
    attention: Literal["softmax", "matching", "lp-matching", "lp-sequence", "crf"] = "softmax"
    iterations: int = 0
    scaled_scores: bool = True
    size: int = 100
    latent: LatentTreeConfig = field(default_factory=LatentTreeConfig)
