"""Conversion of the structures of each task to the parts of messages, and to pictures."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar, cast

import torch
from torch import Tensor
from typing_extensions import override

from strukt.data.constituents.binarisation import EMPTY
from strukt.data.sentence import UNANNOTATED, Sentence
from strukt.errors import StruktError
from strukt.serve.messages import AnnotatedPart, Arc, Kind, Part, Span, Tag
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.spans.code_spans import CodeSpans
from strukt.tasks.common.spans.layer import spans_of
from strukt.tasks.common.spans.model import SpanModel
from strukt.tasks.common.spans.prediction import PredictedSpan, bracket
from strukt.tasks.common.structured_model import StructuredModel
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger
from strukt.viz import Bracket, BracketDiagram, Diagram

ModelT = TypeVar("ModelT", bound=StructuredModel)
PartT = TypeVar("PartT", Tag, Arc, Span)

Index = tuple[int, ...]
"""Index of a part in the main scores (`scores[0]`) of a sentence."""


class PartError(StruktError):
    """Raised if a part cannot exist in the structures of a text."""


class Structures(ABC, Generic[ModelT, PartT]):
    """A model of a task, and the conversion of its structures to parts and pictures.

    Args:
        model: A model of the task.

    Attributes:
        kind: The kind of parts that can be required or forbidden, as in `ModelCard.part`.
        part_type: The class of the parts.
        has_marginals: True if marginals are those of parts, so that the view `marginals` makes sense.
    """

    kind: ClassVar[Kind | None]
    part_type: ClassVar[type[Tag | Arc | Span]]
    has_marginals: ClassVar[bool] = True

    def __init__(self, model: ModelT) -> None:
        self.model = model

    @abstractmethod
    def used(self, event: Tensor) -> Sequence[Index]:
        """Return the index of each part of a structure, an event without a batch axis."""

    @abstractmethod
    def part(self, index: Index) -> PartT | None:
        """Return the part at an index; None for spans without a label."""

    @abstractmethod
    def index(self, part: PartT) -> Index:
        """Return the index of a part, which may lie outside the sentence.

        Raises:
            PartError: If the model has no such label, or if no structure can have this part.
        """

    @abstractmethod
    def pictures(
        self, batch: Batch, events: Tensor, marginals: Tensor | None
    ) -> Iterator[Diagram | BracketDiagram]:
        """Draw structures of a sentence, one by one.

        Args:
            batch: The sentence, as a batch.
            events: `(m, *event)`; m structures of the sentence.
            marginals: Marginals to draw, in the shape of the main scores of the sentence; None to draw none.
        """

    def annotated(self, sentence: Sentence, parts: Sequence[AnnotatedPart]) -> Sentence | None:  # noqa: ARG002
        """Return the sentence with these parts, and `_` elsewhere; None if CoNLL-U has no columns for them."""
        return None

    def relations(self, picture: Diagram | BracketDiagram) -> Sequence[str]:  # noqa: ARG002
        """Return the labels of arcs in a picture, because arcs as parts have no labels; otherwise empty."""
        return ()

    def mask(self, parts: Sequence[Part], shape: torch.Size) -> Tensor:
        """Return a mask of the main scores of a sentence that is true for some parts.

        Args:
            parts: The required or forbidden parts.
            shape: Shape of the main scores, without the batch axis.

        Raises:
            PartError: If a part is of another kind, or outside the sentence.
        """
        chosen = torch.zeros(shape, dtype=torch.bool)
        for part in parts:
            if not isinstance(part, self.part_type):
                *fields, last = self.part_type.model_fields
                raise PartError(
                    f"{_shown(part)}: the parts of this model have {', '.join(fields)} and {last}"
                )
            index = self.index(cast("PartT", part))
            if not all(0 <= place < size for place, size in zip(index, shape, strict=True)):
                raise PartError(f"{_shown(part)}: the text has no such words; the response lists its words")
            chosen[index] = True
        return chosen


def _shown(part: Part) -> str:
    return json.dumps(part.model_dump(), ensure_ascii=False)


def number_of(label: str, labels: Sequence[str]) -> int:
    """Return the index of a label.

    Raises:
        PartError: If the model has no such label.
    """
    if label not in labels:
        raise PartError(f"the model has no label {label!r}; use a label of its responses")
    return labels.index(label)


class Tags(Structures[Tagger, Tag]):
    """The tag sequences of a tagger."""

    kind = "tag"
    part_type = Tag

    @property
    def labels(self) -> Sequence[str]:
        """The names of all tags."""
        return self.model.vocabularies["labels"].symbols

    @override
    def used(self, event: Tensor) -> list[Index]:
        return list(enumerate(event.tolist()))

    @override
    def part(self, index: Index) -> Tag:
        word, tag = index
        return Tag(word=word + 1, tag=self.labels[tag])

    @override
    def index(self, part: Tag) -> Index:
        return part.word - 1, number_of(part.tag, self.labels)

    @override
    def annotated(self, sentence: Sentence, parts: Sequence[AnnotatedPart]) -> Sentence:
        tags = [UNANNOTATED] * len(sentence)
        for annotation in parts:
            part = cast("Tag", annotation.part)
            tags[part.word - 1] = part.tag
        return sentence.annotated(**{self.model.config.column: tags})

    @override
    def pictures(
        self, batch: Batch, events: Tensor, marginals: Tensor | None
    ) -> Iterator[Diagram | BracketDiagram]:
        forms = batch.sentences[0].forms
        for event in events:
            tags = [self.labels[tag] for tag in event.tolist()]
            yield Diagram(forms, tags=tags, tag_probabilities=_chosen(marginals, event))


class Arcs(Structures[Parser, Arc]):
    """The dependency trees of a parser."""

    kind = "arc"
    part_type = Arc

    @override
    def used(self, event: Tensor) -> list[Index]:
        return list(enumerate(event.tolist()))

    @override
    def part(self, index: Index) -> Arc:
        word, head = index
        return Arc(word=word + 1, head=head)

    @override
    def index(self, part: Arc) -> Index:
        if part.head == part.word:
            raise PartError(
                f"{_shown(part)}: a word cannot be its own head; give another word, or 0 for the root"
            )
        return part.word - 1, part.head

    @override
    def annotated(self, sentence: Sentence, parts: Sequence[AnnotatedPart]) -> Sentence:
        heads, relations = ([UNANNOTATED] * len(sentence) for _ in range(2))
        for annotation in parts:
            part = cast("Arc", annotation.part)
            heads[part.word - 1] = str(part.head)
            relations[part.word - 1] = annotation.relation or UNANNOTATED
        return sentence.annotated(head=heads, deprel=relations)

    @override
    def relations(self, picture: Diagram | BracketDiagram) -> Sequence[str]:
        return cast("Diagram", picture).relations

    @override
    def pictures(
        self, batch: Batch, events: Tensor, marginals: Tensor | None
    ) -> Iterator[Diagram | BracketDiagram]:
        for event in events:
            for diagram in self.model.drawn(batch, event.unsqueeze(0)):
                yield replace(diagram, head_probabilities=_chosen(marginals, event))


class Spans(Structures[SpanModel, Span]):
    """The trees of a model of constituents or nested entities, with a score for each label of each span."""

    kind: ClassVar[Kind | None] = "span"
    part_type = Span

    @override
    def used(self, event: Tensor) -> list[Index]:
        return list(spans_of(event))

    @override
    def part(self, index: Index) -> Span | None:
        start, end, label = index
        name = self.label(label)
        return None if name == EMPTY else Span(start=start, end=end, label=name)

    @override
    def index(self, part: Span) -> Index:
        return part.start, part.end, number_of(part.label, self.model.vocabularies["labels"].symbols)

    @override
    def pictures(
        self, batch: Batch, events: Tensor, marginals: Tensor | None
    ) -> Iterator[Diagram | BracketDiagram]:
        (prediction,) = self.model.predict_batch(batch)
        best = cast("BracketDiagram", prediction.diagram(batch.sentences[0]))  # has the tags of the words
        for event in events:
            shown = [each for index in self.used(event) for each in self._shown(index, marginals)]
            yield replace(best, brackets=shown)

    def _shown(self, index: Index, marginals: Tensor | None) -> list[Bracket]:
        """Return a bracket for each of the labels of a span that its joint label holds."""
        start, end, number = index
        probability = None if marginals is None else marginals[index].item()
        span = PredictedSpan(start, end, self.label(number), probability, self.code(number))
        return [bracket(span, label) for label in span.label.split(self.model.separator) if label != EMPTY]

    def label(self, number: int) -> str:
        """Return the label of a number in an event."""
        return self.model.vocabularies["labels"].symbols[number]

    def code(self, number: int) -> int | None:  # noqa: ARG002
        """Return the code of a number in an event; None if the model has no codes."""
        return None


class Codes(Spans):
    """The trees of a model with binary codes in place of labels; its scores are those of single bits."""

    kind = None
    has_marginals = False

    @override
    def label(self, number: int) -> str:
        return cast("CodeSpans", self.model.layer).label(number)

    @override
    def code(self, number: int) -> int:
        return number


def _chosen(marginals: Tensor | None, event: Tensor) -> list[float]:
    """Return the marginal of the tag or head that an event has at each position; empty without marginals."""
    if marginals is None:
        return []
    return marginals.gather(-1, event.unsqueeze(-1)).squeeze(-1).tolist()
