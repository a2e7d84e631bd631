"""Structures of a task as messages: their parts, predictions and pictures, and the conditions on them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

import torch
from torch import Tensor

from strukt.data.sentence import Sentence
from strukt.errors import StruktError
from strukt.serve.messages import AnnotatedPart, Arc, Kind, Part, PredictRequest, Span, Tag, kind_of
from strukt.serve.views import at_temperature
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.prediction import Prediction
from strukt.tasks.common.structured_model import StructuredModel
from strukt.viz import BracketDiagram, Diagram

ModelT = TypeVar("ModelT", bound=StructuredModel)
PartT = TypeVar("PartT", Tag, Arc, Span)

Index = tuple[int, ...]
"""Index of a part in the main scores (`scores[0]`) of a sentence."""

Picture = Diagram | BracketDiagram


class PartError(StruktError):
    """A part of a request cannot exist in the structures of its text."""


@dataclass(frozen=True)
class Answer:
    """A structure of a sentence that answers a request.

    Attributes:
        sentence: The sentence.
        request: The request.
        event: The structure, without a batch axis.
        prediction: The structure as a prediction.
        marginals: The marginals to show, in the shape of the main scores of the sentence; None to show none.
    """

    sentence: Sentence
    request: PredictRequest
    event: Tensor
    prediction: Prediction
    marginals: Tensor | None

    def probability(self, index: Index) -> float | None:
        """Return the marginal of a part; None without marginals."""
        return None if self.marginals is None else self.marginals[index].item()

    @property
    def probabilities(self) -> list[float]:
        """The marginal of the tag or head that the event has at each position; empty without marginals."""
        if self.marginals is None:
            return []
        probabilities: list[float] = self.marginals.gather(-1, self.event.unsqueeze(-1)).squeeze(-1).tolist()
        return probabilities


class Structures(ABC, Generic[ModelT, PartT]):
    """A model of a task, and the conversion of its structures to parts and pictures.

    A subclass sets `kind` and `file`, and implements the abstract members: `labels`, `used`, `part`, `index`,
    `prediction`, `picture` and `partial`.

    Args:
        model: A model of the task.

    Attributes:
        kind: The kind of parts that can be required or forbidden; None if no parts can be.
        has_marginals: True if the marginals of the distribution are probabilities of parts, so that the model has
            the view `marginals`.
        file: A name for files of annotated sentences.
    """

    kind: ClassVar[Kind | None]
    has_marginals: ClassVar[bool] = True
    file: str

    def __init__(self, model: ModelT) -> None:
        self.model = model

    @property
    @abstractmethod
    def labels(self) -> Sequence[str]:
        """The labels that parts may have."""

    @abstractmethod
    def used(self, event: Tensor, request: PredictRequest) -> Sequence[Index]:
        """Return the index of each part of a structure.

        Args:
            event: The structure, without a batch axis.
            request: The request that was answered by the structure.
        """

    @abstractmethod
    def part(self, index: Index) -> PartT | None:
        """Return the part at an index; None for spans without a label."""

    @abstractmethod
    def index(self, part: PartT) -> Index:
        """Return the index of a part in the main scores; it is out of range if the part is outside the sentence.

        Raises:
            PartError: If the model has no such label, or if no structure of any sentence can have this part.
        """

    @abstractmethod
    def prediction(self, batch: Batch, event: Tensor, request: PredictRequest) -> Prediction:
        """Return a structure of a sentence as a prediction, which can be written to a file.

        Args:
            batch: The sentence, as a batch.
            event: The structure, without a batch axis.
            request: The request, whose conditions may concern labels that are not in the event.
        """

    @abstractmethod
    def picture(self, answer: Answer) -> Picture:
        """Draw a structure, with its marginals if there are any."""

    @abstractmethod
    def partial(self, sentence: Sentence, required: Sequence[PartT]) -> Sentence:
        """Return a sentence in which only these parts are annotated, as `strukt train --partial` reads it.

        Args:
            sentence: The sentence, from `savable`.
            required: The annotated parts.
        """

    def savable(self, sentence: Sentence) -> Sentence:
        """Return a sentence in the format in which it is saved; by default, the same object."""
        return sentence

    def relations(self, prediction: Prediction) -> Sequence[str]:  # noqa: ARG002
        """Return the label of each arc in a prediction, which events lack; empty for structures without arcs."""
        return ()

    def distribution(self, batch: Batch, request: PredictRequest) -> StructuredDistribution:
        """Return the distribution over structures of a sentence under the conditions of a request.

        Args:
            batch: The sentence, as a batch.
            request: The request, with required and forbidden parts and a temperature.

        Raises:
            PartError: If a part is outside the sentence, has an unknown label, or cannot be in any structure.
        """
        return self.reshaped(self.model.distribution_of(batch), request)

    def reshaped(self, distribution: StructuredDistribution, request: PredictRequest) -> StructuredDistribution:
        """Return a new distribution under the conditions of a request, with scores divided by its temperature.

        Raises:
            PartError: As for `distribution`.
        """
        required, forbidden = self.masks(request, distribution.scores[0].shape[1:])
        conditional = distribution.condition(required.unsqueeze(0), forbidden.unsqueeze(0))
        return at_temperature(conditional, request.temperature)

    def masks(self, request: PredictRequest, shape: torch.Size) -> tuple[Tensor, Tensor]:
        """Return masks of the required and of the forbidden parts.

        Args:
            request: The request with the parts.
            shape: Shape of the main scores, without the batch axis; that of the masks.

        Raises:
            PartError: As for `distribution`.
        """
        required, forbidden = self.chosen(request.required), self.chosen(request.forbidden)
        return self.mask(required, shape), self.mask(forbidden, shape)

    def chosen(self, parts: Sequence[Part]) -> list[PartT]:
        """Return those of the given parts whose kind is that of these structures."""
        return [cast("PartT", part) for part in parts if kind_of(part) == self.kind]

    def mask(self, parts: Sequence[PartT], shape: Sequence[int]) -> Tensor:
        """Return a mask of the main scores of a sentence that is True for the given parts only.

        Args:
            parts: Parts of the kind of these structures.
            shape: Shape of the main scores, without the batch axis.

        Raises:
            PartError: As for `distribution`.
        """
        chosen = torch.zeros(tuple(shape), dtype=torch.bool)
        for part in parts:
            index = self.index(part)
            if not all(0 <= place < size for place, size in zip(index, shape, strict=True)):
                raise PartError(f"{shown(part)}: the text has no such words; the response lists its words")
            chosen[index] = True
        return chosen

    def annotated_parts(self, answer: Answer) -> list[AnnotatedPart]:
        """Return the parts of a structure with their relations and probabilities."""
        used = self.used(answer.event, answer.request)
        names: Sequence[str | None] = self.relations(answer.prediction) or [None] * len(used)
        return [
            AnnotatedPart(part=part, relation=name, probability=answer.probability(index))
            for index, name in zip(used, names, strict=True)
            if (part := self.part(index)) is not None
        ]


def shown(part: Part) -> str:
    """Return a part as JSON, for messages."""
    return json.dumps(part.model_dump(exclude_none=True), ensure_ascii=False)


def number_of(label: str, labels: Sequence[str]) -> int:
    """Return the index of a label.

    Raises:
        PartError: If the model has no such label.
    """
    if label not in labels:
        raise PartError(f"the model has no label {label!r}; use a label of its responses")
    return labels.index(label)


AnyStructures = Structures[Any, Any]
"""The structures of any task."""
