"""The configuration of pipelines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.tasks.common.config import TaskConfig, TrainerConfig
from strukt.tasks.common.encoder.config import EncoderConfig


@dataclass
class Config(TaskConfig):
    """Options of the pipeline; at least one of tags, trees and entities is predicted.

    Args:
        tags: The column of CoNLL-U to predict, or none.
        trees: What dependency trees there are: all with exactly one root, those of them without crossing arcs, or
            none. In training each head is chosen for itself.
        entities: Entities that nest, by the likelihood of trees that hold them; the outermost ones, by tags; or
            none.
        arc_size: Size of the vectors that are compared to score an arc.
        label_size: Size of the vectors that are compared to label an arc, or a nested entity.
        encoder: How words become vectors.
        trainer: How long, on what, and how safely.
    """

    summary = "tags, dependency trees and entities together, by one encoder"
    readers = corpus.ALL_LAYERS

    tags: Literal["xpos", "upos", "none"] = "xpos"
    trees: Literal["nonprojective", "projective", "none"] = "nonprojective"
    entities: Literal["nested", "flat", "none"] = "none"
    arc_size: int = 400
    label_size: int = 100
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(layers=3, hidden=400))
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=30, tokens=1500))
