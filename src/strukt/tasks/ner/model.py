"""The model of nested named entities: labelled spans, of which nothing is known outside the entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor
from typing_extensions import override

from strukt.data import entities
from strukt.data.conllu import entity_notes
from strukt.data.conllu.mention_brackets import is_type
from strukt.data.constituents.binarisation import EMPTY
from strukt.data.entities import Entity, json_lines
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError
from strukt.metrics.entities import EntityF1
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.mean_loss import Average
from strukt.tasks.common.spans.label_spans import CRITERIA
from strukt.tasks.common.spans.layer import SpanLayer
from strukt.tasks.common.spans.model import SpanModel
from strukt.tasks.common.spans.prediction import bracket
from strukt.tasks.common.symbols import TYPES, Forms
from strukt.tasks.ner.config import Config
from strukt.tasks.ner.prediction import EntityPrediction
from strukt.tasks.ner.tag_spans import TagSpans

JOINT = "\t"
"""Joins the labels of entities with the same words; no format allows it in a label."""


class EntityModel(SpanModel):
    """Predicts entities that nest.

    Where two entities have the same words, their labels are one label for the model, as those of unary
    constituents are.
    """

    task: ClassVar[str] = "ner"
    outputs: ClassVar[Forms] = {"labels": TYPES}
    config: Config

    @classmethod
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:  # noqa: ARG003
        """Check that every sentence is annotated with entities that do not cross."""
        return [entities.require_nested(_annotated(sentence)) for sentence in sentences]

    @classmethod
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """The types."""
        labels = {label for sentence in sentences for _, _, label in _labelled(_annotated(sentence).entities)}
        if not labels:
            raise DataError("holds no entity to learn from", config.train or None)
        return {"labels": Vocabulary.labels({EMPTY, *labels})}

    @property
    @override
    def mean_over(self) -> Average:
        return self.config.average

    def build_layer(self) -> SpanLayer:
        if self.config.criterion == "flat":
            labels, config = self.vocabularies["labels"], self.config
            return TagSpans(self.encoder.size, labels, config.scheme, config.decoder, config.average)
        return super().build_layer()

    @property
    def types(self) -> list[str]:
        """The types of entities, those alone that have a label together with others too."""
        labels = self.vocabularies["labels"].symbols
        return sorted({part for label in labels if label != EMPTY for part in label.split(JOINT)})

    def known_spans(self, sentence: Sentence) -> list[Entity]:
        return _labelled(_annotated(sentence).entities)

    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[EntityPrediction]:
        """The spans of the best trees that are entities."""
        predictions = []
        words = self.words(batch.inputs, batch.lengths)
        for spans in self.layer.found(words, batch.lengths, probabilities):
            brackets = [
                bracket(span, label)
                for span in spans
                if span.label != EMPTY
                for label in span.label.split(JOINT)
            ]
            shares = self.layer.shares(spans)
            predictions.append(EntityPrediction(brackets, self.layer.bits, self.layer.codes, shares))
        return predictions

    @override
    def entropies(self, batch: Batch) -> Tensor:
        """Add up, over the spans of a sentence, the entropies of being no entity or one of each type.

        Trees of likelihood and margin also choose among spans that are no entities. Their own entropy is largest
        where there is no entity at all.
        """
        if self.config.criterion not in CRITERIA:
            return super().entropies(batch)
        marginals = self.distribution_of(batch).marginals
        types = torch.arange(marginals.shape[-1], device=marginals.device) != self.layer.empty
        of_types = marginals[..., types]
        none = (1 - of_types.sum(-1, keepdim=True)).clamp(min=0)
        entropies: Tensor = torch.special.entr(torch.cat([of_types, none], -1))
        return entropies.flatten(1).sum(-1)

    def metric(self) -> EntityF1:
        """Entities with the right type and both borders right."""
        return EntityF1()

    def observed(self, sentence: Sentence) -> list[Entity]:
        """The entities of a sentence."""
        return entities.require_annotated(_annotated(sentence)).entities

    def require_usable(self, sentence: Sentence) -> None:
        """CoNLL-U has no place for types with a hyphen and some other signs."""
        if isinstance(_annotated(sentence), entity_notes.Sentence):
            for label in self.types:
                if not is_type(label):
                    raise DataError(
                        f"CoNLL-U has no place for the type {label!r}; give columns or JSON lines",
                        sentence.path,
                        sentence.line,
                    )

    def require_place(self, sentence: Sentence) -> None:
        """Probabilities have a place in JSON lines only."""
        if not isinstance(sentence, json_lines.Sentence):
            raise DataError(
                "this format has no place for the probabilities of entities; give JSON lines or text",
                sentence.path,
                sentence.line,
            )


def _annotated(sentence: Sentence) -> entities.Sentence:
    if not isinstance(sentence, entities.Sentence):
        raise DataError("this task needs a file of entities", sentence.path, sentence.line)
    return sentence


def _labelled(found: Sequence[Entity]) -> list[Entity]:
    """Each span once."""
    labels: dict[tuple[int, int], str] = {}
    for start, end, label in found:
        before = labels.get((start, end))
        labels[start, end] = label if before is None else before + JOINT + label
    return [Entity(start, end, label) for (start, end), label in labels.items()]
