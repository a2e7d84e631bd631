"""The configuration of constituency parsing."""

from __future__ import annotations

from dataclasses import dataclass, field

from strukt.data import corpus
from strukt.tasks.common.config import TrainerConfig
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.spans.config import SpanTaskConfig


@dataclass
class Config(SpanTaskConfig):
    """Options of the constituency parsing task.

    Args:
        tag_weight: Weight of the loss of the part-of-speech tags, which are predicted with the tree.
        encoder: Encoder, which computes a vector for each word; by default with 3 layers and hidden size 400.
        trainer: Length, batches, device and checkpoints of the training run.
    """

    summary = "the phrases of a sentence as a labelled tree"
    readers = corpus.TREES

    tag_weight: float = 0.1
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(layers=3, hidden=400))
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=20, tokens=1500))
