"""The model of nested named entities: labelled spans of trees in which only the entities are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from strukt.tasks.common.partial_annotation import with_annotation
from strukt.tasks.common.sentences import require_format
from strukt.tasks.common.spans.label_spans import CRITERIA
from strukt.tasks.common.spans.layer import SpanLayer
from strukt.tasks.common.spans.model import SpanModel
from strukt.tasks.common.spans.prediction import PredictedSpan, bracket
from strukt.tasks.common.symbols import TYPES, Forms
from strukt.tasks.ner.config import Config
from strukt.tasks.ner.prediction import EntityPrediction
from strukt.tasks.ner.tag_spans import TagSpans

JOINT = "\t"
"""Separator in the joint label of entities over the same words; no format allows it in a type."""


class EntityModel(SpanModel):
    """A model of named entities, which may be nested.

    Entities over the same words have a single joint label, like a chain of unary constituents.

    Arguments are those of `SpanModel`.

    Examples:
        >>> from strukt.tasks.ner import Config
        >>> import io
        >>> from strukt.data.entities import json_lines
        >>> line = b'{"tokens": ["Ada", "spoke"], "entities": [{"start": 0, "end": 1, "type": "PER"}]}'
        >>> [sentence] = json_lines.read(io.BytesIO(line))
        >>> model = EntityModel.from_corpus(Config(), [sentence])
        >>> model.vocabularies["labels"].symbols  # the empty label is that of spans that are not entities
        ('', 'PER')
        >>> [annotated] = model.predict("Ada spoke")
        >>> {entity.label for entity in annotated.entities} <= {"PER"}
        True
    """

    task: ClassVar[str] = "ner"
    outputs: ClassVar[Forms] = {"labels": TYPES}
    separator: ClassVar[str] = JOINT
    config: Config

    @classmethod
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return all sentences, after checking that their entities do not cross.

        With `partial`, return the sentences with annotation.

        Raises:
            DataError: If entities cross; without `partial`, if the entities of a sentence are not all annotated;
                with `partial`, if an entity is both annotated and forbidden, or a forbidden part is malformed.
        """
        if not config.partial:
            return [entities.require_nested(_annotated(sentence)) for sentence in sentences]
        for sentence in sentences:
            for problem in entities.partial_entity_problems(_annotated(sentence)):
                raise problem.error()
        return with_annotation(sentences, [cls.has_annotation(config, sentence) for sentence in sentences])

    @staticmethod
    @override
    def has_annotation(config: Config, sentence: Sentence) -> bool:
        is_known = not EntityModel.is_partial(sentence) or bool(_annotated(sentence).entities)
        return is_known or any(part.kind == "span" for part in sentence.forbidden)

    @classmethod
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return the joint labels of entities and the empty label, as the vocabulary `labels`.

        Raises:
            DataError: If the corpus has no entity.
        """
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
        """The types of entities in alphabetical order, with joint labels split."""
        labels = self.vocabularies["labels"].symbols
        return sorted({part for label in labels if label != EMPTY for part in label.split(JOINT)})

    def known_spans(self, sentence: Sentence) -> list[Entity]:
        return _labelled(_annotated(sentence).entities)

    @staticmethod
    @override
    def is_partial(sentence: Sentence) -> bool:
        annotated = _annotated(sentence)
        return annotated.is_partial or not annotated.is_annotated

    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[EntityPrediction]:
        """Return the entities in the best structure of each sentence."""
        words = self.words(batch.inputs, batch.lengths)
        return self.predictions_of(batch, self.layer.best_spans(words, batch.lengths, probabilities))

    @override
    def predictions_of(
        self, batch: Batch, spans: Iterable[Sequence[PredictedSpan]]
    ) -> list[EntityPrediction]:
        return [self._prediction(each) for each in spans]

    def _prediction(self, spans: Sequence[PredictedSpan]) -> EntityPrediction:
        brackets = [
            bracket(span, label)
            for span in spans
            if span.label != EMPTY
            for label in span.label.split(JOINT)
        ]
        return EntityPrediction(brackets, self.layer.bits, self.layer.codes, self.layer.shares(spans))

    @override
    def partly_annotated(self, sentence: Sentence, spans: Sequence[tuple[int, int, str]]) -> Sentence:
        known = [Entity(start, end, label) for start, end, joint in spans for label in joint.split(JOINT)]
        return _annotated(sentence).as_partial().annotated(entities=known)

    @override
    def entropies(self, batch: Batch) -> Tensor:
        """Return the sum over spans of the entropy of their type, ``(batch,)``; "no entity" counts as a type.

        For likelihood and margin, the entropy of the trees is unsuitable: it includes the choice among spans that
        are not entities, and is largest for sentences without entities. Other criteria use that of their layer.
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
        """Return the metric: F1 of entities, which count as right if both type and borders are."""
        return EntityF1()

    def observed(self, sentence: Sentence) -> list[Entity]:
        """Return the annotated entities of a sentence."""
        return entities.require_annotated(_annotated(sentence)).entities

    def require_usable(self, sentence: Sentence) -> None:
        """Raise a DataError if the format has no place for a type of the model: CoNLL-U allows no hyphens."""
        if isinstance(_annotated(sentence), entity_notes.Sentence):
            for label in self.types:
                if not is_type(label):
                    raise DataError(
                        f"CoNLL-U has no place for the type {label!r}; give columns or JSON lines",
                        sentence.path,
                        sentence.line,
                    )

    def require_place(self, sentence: Sentence) -> None:
        """Raise a DataError unless the format is JSON lines, the only format with a place for probabilities."""
        message = "this format has no place for the probabilities of entities; give JSON lines or text"
        require_format(sentence, json_lines.Sentence, message)


def _annotated(sentence: Sentence) -> entities.Sentence:
    return require_format(sentence, entities.Sentence, "this task needs a file of entities")


def _labelled(entities: Sequence[Entity]) -> list[Entity]:
    """Return each span once, with the joint label of all entities over it."""
    labels: dict[tuple[int, int], str] = {}
    for start, end, label in entities:
        before = labels.get((start, end))
        labels[start, end] = label if before is None else before + JOINT + label
    return [Entity(start, end, label) for (start, end), label in labels.items()]
