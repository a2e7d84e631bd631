"""The trees of models of constituents and of nested entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, cast

from torch import Tensor
from typing_extensions import override

from strukt.data.constituents.binarisation import EMPTY
from strukt.data.sentence import Sentence
from strukt.distributions import LinearChain
from strukt.serve.messages import Kind, Part, PredictRequest, Span
from strukt.serve.structures import Answer, Index, PartError, Picture, Structures, number_of, shown
from strukt.serve.views import at_temperature
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.prediction import Prediction
from strukt.tasks.common.spans.code_spans import CodeSpans
from strukt.tasks.common.spans.layer import spans_of
from strukt.tasks.common.spans.model import SpanModel
from strukt.tasks.common.spans.prediction import PredictedSpan, bracket
from strukt.tasks.ner.tag_spans import TagSpans
from strukt.viz import BracketDiagram


class Spans(Structures[SpanModel, Span]):
    """The trees of a model of constituents or nested entities, with a score for each label of each span."""

    kind: ClassVar[Kind | None] = "span"

    def __init__(self, model: SpanModel) -> None:
        super().__init__(model)
        self.file = {"constituency": "phrases.conllu", "ner": "entities.jsonl"}[model.task]

    @property
    @override
    def labels(self) -> Sequence[str]:
        return [label for label in self.model.vocabularies["labels"].symbols if label != EMPTY]

    @override
    def used(self, event: Tensor, request: PredictRequest) -> list[Index]:
        return list(spans_of(event))

    @override
    def part(self, index: Index) -> Span | None:
        start, end, label = index
        name = self.label(label)
        return None if name == EMPTY else Span(start=start, end=end, label=name)

    @override
    def index(self, part: Span) -> Index:
        number_of(part.label, self.labels)
        if part.start >= part.end:
            raise PartError(f"{shown(part)}: a span ends after its start")
        return part.start, part.end, self.model.vocabularies["labels"].index(part.label)

    @override
    def prediction(self, batch: Batch, event: Tensor, request: PredictRequest) -> Prediction:
        spans = [self._span(index, None) for index in self.used(event, request)]
        (prediction,) = self.model.predictions_of(batch, [spans])
        return prediction

    @override
    def picture(self, answer: Answer) -> Picture:
        diagram = cast("BracketDiagram", answer.prediction.diagram(answer.sentence))
        brackets = [
            bracket(span, label)
            for span in (
                self._span(index, answer.probability(index)) for index in self.used(answer.event, answer.request)
            )
            for label in span.label.split(self.model.separator)
            if label != EMPTY
        ]
        return replace(diagram, brackets=brackets)

    def _span(self, index: Index, probability: float | None) -> PredictedSpan:
        start, end, number = index
        return PredictedSpan(start, end, self.label(number), probability, self.code(number))

    @override
    def savable(self, sentence: Sentence) -> Sentence:
        return self.model.savable(sentence)

    @override
    def partial(self, sentence: Sentence, required: Sequence[Span]) -> Sentence:
        spans = [(part.start, part.end, part.label) for part in required]
        return self.model.partly_annotated(sentence, spans)

    def label(self, number: int) -> str:
        """Return the label that a number in an event stands for."""
        return self.model.vocabularies["labels"].symbols[number]

    def code(self, number: int) -> int | None:  # noqa: ARG002
        """Return the binary code that a number in an event stands for; None if the model has no codes."""
        return None


class Codes(Spans):
    """The trees of a model with binary codes in place of labels.

    Its scores are those of single bits, so that no parts can be required or forbidden, and there are no marginals
    of parts.
    """

    kind = None
    has_marginals = False

    @property
    @override
    def labels(self) -> Sequence[str]:
        return ()

    @override
    def label(self, number: int) -> str:
        return cast("CodeSpans", self.model.layer).label(number)

    @override
    def code(self, number: int) -> int:
        return number


class Chunks(Spans):
    """The flat entities of a model that tags words: the spans that its tag sequences mark.

    The marginals of the distribution are those of tags, not of spans, so that there is no view `marginals`.
    """

    has_marginals = False

    @property
    def layer(self) -> TagSpans:
        """The layer that tags words."""
        return cast("TagSpans", self.model.layer)

    @override
    def used(self, event: Tensor, request: PredictRequest) -> list[Index]:
        symbols = self.model.vocabularies["labels"]
        named = self.layer.spans_of(event, self._named(request.forbidden))
        return [(start, end, symbols.index(label)) for start, end, label in named]

    @override
    def distribution(self, batch: Batch, request: PredictRequest) -> StructuredDistribution:
        words = len(batch.sentences[0])
        for parts in (request.required, request.forbidden):
            self.mask(self.chosen(parts), (words + 1, words + 1, len(self.model.vocabularies["labels"])))
        chain = cast("LinearChain", self.model.distribution_of(batch))
        required, forbidden = self._named(request.required), self._named(request.forbidden)
        conditioned = self.layer.under_conditions(chain, required, forbidden)
        return at_temperature(conditioned, request.temperature)

    def _named(self, parts: Sequence[Part]) -> list[tuple[int, int, str]]:
        """Return the spans among some parts: first word (from 0), word after the last, and label."""
        return [(part.start, part.end, part.label) for part in self.chosen(parts)]
