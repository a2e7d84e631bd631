"""The configuration of named entities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.tasks.common.config import TrainerConfig
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.spans.config import SpanTaskConfig
from strukt.tasks.common.uses import Use


@dataclass
class Config(SpanTaskConfig):
    """Options of the task of named entities.

    Args:
        criterion: The likelihood of trees that hold the entities, with a score for each label; the same scores
            with a margin; binary codes in place of labels, by contrastive hashing and that likelihood, or by the
            published contrastive loss alone; or tags of words, which find the outermost entities only.
        scheme: How such tags write entities.
        decoder: How they are predicted: all of a sentence together, by a conditional random field, or each for
            itself.
        average: Whether the loss is a mean over the words of a batch, or over its sentences of the means of each,
            as published for the Probabilistic Transformer.
        encoder: How words become vectors.
        trainer: How long, on what, and how safely.
    """

    summary = "named entities, one inside another too"
    readers = corpus.ENTITIES
    uses = (
        Use(
            ["scheme", "decoder", "average"],
            "--criterion flat, which tags words",
            lambda config: config.criterion == "flat",
        ),
    )

    criterion: Literal["likelihood", "margin", "bits", "bits-published", "flat"] = "likelihood"  # type: ignore[assignment]  # one more
    scheme: Literal["bio", "bioes"] = "bio"
    decoder: Literal["crf", "softmax"] = "crf"
    average: Literal["words", "sentences"] = "words"
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(layers=2, hidden=256))
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=20, tokens=1500))
