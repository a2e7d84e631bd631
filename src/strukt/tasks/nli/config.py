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
        encoder: Encoder, which computes a vector for each word; by default word embeddings without context,
            characters or affixes.
        model: Comparison of the two sentences. attention: word by word, along an alignment; latent-tree: by the
            vectors of their dependency trees.
        attention: Kind of alignment between the words; see `strukt.nn.StructuredAttention`.
        iterations: Maximum number of rounds of ADMM for lp-matching and lp-sequence; 0 to continue until the
            factors agree.
        scaled_scores: Divide the scores of word pairs by the square root of `size`; false as published.
        size: Hidden size of the comparison.
        latent: Dependency trees that the network reads, for model latent-tree.
    """

    summary = "whether a premise entails a hypothesis, from aligned words or latent trees"
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

    def require_fitting(self) -> None:
        super().require_fitting()
        self.latent.require_fitting()
