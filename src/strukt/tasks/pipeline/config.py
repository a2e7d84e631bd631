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
        tags: CoNLL-U column of the tags, or none.
        trees: Dependency trees to choose from, all with exactly one root. nonprojective: arcs may cross;
            projective: arcs do not cross; none: predict no trees. The loss is the cross-entropy of each head on
            its own.
        entities: Named entities. nested: entities may contain one another; the loss is the negative
            log-likelihood of the trees that contain them; flat: outermost entities only, as tags of words; none:
            predict no entities.
        partial: Learn from partially annotated sentences: a word with `_` in the column of tags or in HEAD may
            have any, and a sentence with the comment `# entities = partial` may have further entities.
        arc_size: Size of the vectors from which arcs are scored.
        label_size: Size of the vectors from which the labels of arcs, and of nested entities, are scored.
        encoder: Encoder, which computes a vector for each word; by default with 3 layers and hidden size 400.
        trainer: Length, batches, device and checkpoints of the training run.
    """

    summary = "tags, dependency trees and entities, from one encoder"
    readers = corpus.ALL_LAYERS

    tags: Literal["xpos", "upos", "none"] = "xpos"
    trees: Literal["nonprojective", "projective", "none"] = "nonprojective"
    entities: Literal["nested", "flat", "none"] = "none"
    partial: bool = False
    arc_size: int = 400
    label_size: int = 100
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(layers=3, hidden=400))
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=30, tokens=1500))
