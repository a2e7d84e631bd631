"""The configuration of named entity recognition."""

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
    """Options of named entity recognition.

    Args:
        criterion: Loss. likelihood: negative log-likelihood of the trees that contain the entities; margin:
            structured hinge loss of these trees; bits: binary codes in place of labels, by contrastive hashing
            and the negative log-likelihood of the tree; bits-published: binary codes by a single contrastive loss,
            as published (Wang and Utiyama 2024); flat: negative log-likelihood of tags, which find the outermost
            entities only.
        partial: Learn from partially annotated sentences: a sentence of the training corpus that the file marks as
            partial may have further entities. The loss is the negative log-likelihood of the annotation. For
            criteria likelihood and flat.
        scheme: Tagging scheme, for criterion flat.
        decoder: Prediction of tags, for criterion flat. crf: all tags of a sentence jointly, by a linear-chain
            CRF; softmax: each tag on its own.
        average: Mean of the loss. words: over all words of a batch; sentences: over its sentences, after the
            mean over the words of each sentence, as published for the Probabilistic Transformer. For criterion
            flat.
        encoder: Encoder, which computes a vector for each word.
        trainer: Length, batches, device and checkpoints of the training run.
    """

    summary = "named entities, which may contain one another"
    readers = corpus.ENTITIES
    uses = (
        Use(
            ["scheme", "decoder", "average"],
            "--criterion flat, which tags words",
            lambda config: config.criterion == "flat",
        ),
    )

    criterion: Literal["likelihood", "margin", "bits", "bits-published", "flat"] = "likelihood"  # type: ignore[assignment]  # adds flat
    scheme: Literal["bio", "bioes"] = "bio"
    decoder: Literal["crf", "softmax"] = "crf"
    average: Literal["words", "sentences"] = "words"
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(layers=2, hidden=256))
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=20, tokens=1500))
