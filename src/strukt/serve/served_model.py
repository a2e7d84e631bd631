"""A model that the service serves under a name: its views, and its results for texts."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast, get_args

from torch import Tensor
from typing_extensions import override

from strukt.data.sentence import Sentence
from strukt.errors import InfeasibleError, StruktError
from strukt.serve.messages import AnnotatedPart, ModelCard, PredictRequest, Structure, TextResult, View
from strukt.serve.sentences import sentence_of
from strukt.serve.structures import Arcs, Codes, Spans, Structures, Tags
from strukt.serve.views import VIEWS, reshaped
from strukt.serve.workers import Deadline
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.encoded_model import EncodedModel
from strukt.tasks.common.model import Model
from strukt.tasks.common.spans.code_spans import CodeSpans
from strukt.tasks.common.spans.label_spans import LabelSpans
from strukt.tasks.common.spans.model import SpanModel
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger
from strukt.viz import BracketDiagram, Diagram, WeightedStructures, svg
from strukt.viz.structures import LEAST


class RequestError(StruktError):
    """Raised if a model does not support a request."""


class ServedModel(ABC):
    """A model that is served under a name.

    Args:
        name: The name of the model.
        model: The model, ready to predict.
        words: Maximum number of words of a text.

    Attributes:
        card: The description of the model for clients.
    """

    card: ModelCard

    def __init__(self, name: str, model: Model, words: int) -> None:
        self.model = model
        self.words = words
        self.card = self.describe(name)

    @abstractmethod
    def describe(self, name: str) -> ModelCard:
        """Return the description of the model for clients."""

    @abstractmethod
    def predict(self, sentence: Sentence, request: PredictRequest, deadline: Deadline) -> TextResult:
        """Return the result of a request for one sentence.

        Raises:
            StruktError: If the request has no answer.
            LateError: If the deadline passes before the result is complete.
        """

    def sentences(self, request: PredictRequest) -> list[Sentence]:
        """Return the texts of a request as sentences.

        Raises:
            RequestError: If the model does not support the view or the conditions of the request.
            TextError: If a text cannot be read.
            DataError: If the reader of the model rejects a text.
        """
        if request.view not in self.card.views:
            raise RequestError(
                f"view {request.view}: the model {self.card.name} has only {', '.join(self.card.views)}"
            )
        conditions = [*request.required, *request.forbidden]
        if conditions and self.card.part is None:
            raise RequestError(f"the model {self.card.name} has no parts that can be required or forbidden")
        if conditions and len(request.texts) > 1:
            raise RequestError("required and forbidden parts need a single text; give one text")
        return [sentence_of(self.model, text, self.words) for text in request.texts]


class ServedPrediction(ServedModel):
    """A served model without a distribution over structures, which only predicts."""

    @override
    def describe(self, name: str) -> ModelCard:
        return ModelCard(
            name=name, task=self.model.task, views=["mode"], part=None, examples=examples(self.model)
        )

    @override
    def predict(self, sentence: Sentence, request: PredictRequest, deadline: Deadline) -> TextResult:
        (predicted,) = self.model.predict([sentence])
        deadline.check()
        structures = [
            Structure(parts=[], picture=svg.draw(picture))
            for picture in (self.model.diagrams([sentence]) if request.pictures else [])
        ]
        return TextResult(words=sentence.forms, structures=structures, output=str(predicted))


class ServedDistribution(ServedModel):
    """A served model with a distribution over structures.

    Args:
        name: The name of the model.
        structures: The model, and the conversion of its structures to messages.
        words: Maximum number of words of a text.
    """

    def __init__(self, name: str, structures: Structures[Any, Any], words: int) -> None:
        self.structures = structures
        super().__init__(name, structures.model, words)

    @override
    def describe(self, name: str) -> ModelCard:
        views = [view for view in get_args(View) if view != "marginals" or self.structures.has_marginals]
        return ModelCard(
            name=name,
            task=self.model.task,
            views=views,
            part=self.structures.kind,
            examples=examples(self.model),
        )

    @override
    def predict(self, sentence: Sentence, request: PredictRequest, deadline: Deadline) -> TextResult:
        model = self.structures.model
        model.require_usable(sentence)
        with model.predicting():
            batch = model.collate([sentence], with_targets=False).to(model.device)
            distribution = self._conditioned(model.distribution_of(batch), request)
            try:
                seen = VIEWS[request.view](distribution, request, deadline)
            except InfeasibleError:
                raise RequestError(
                    "no structure has all required parts and none of the forbidden ones; remove some of them"
                    if request.required or request.forbidden
                    else "the model permits no structure of this text; give another text"
                ) from None
            deadline.check()
            log_probs = distribution.log_prob(seen.events.unsqueeze(1)).flatten()
            probabilities = log_probs.double().exp().tolist()
            marginals = distribution.marginals[0].clamp(0, 1) if request.view == "marginals" else None
            structures, drawn = [], []
            pictures = self.structures.pictures(batch, seen.events, marginals)
            for number, (event, picture) in enumerate(zip(seen.events, pictures, strict=True)):
                deadline.check()
                drawn.append(picture)
                parts = self._parts(event, self.structures.relations(picture), marginals)
                structures.append(
                    Structure(
                        parts=parts,
                        probability=probabilities[number],
                        weight=seen.weights[number] if seen.weights else None,
                        picture=svg.draw(picture) if request.pictures else None,
                        conllu=self._conllu(sentence, parts) if request.conllu else None,
                    )
                )
        required = [AnnotatedPart(part=part) for part in request.required]
        overlay = _overlaid(drawn, seen.weights or probabilities) if request.pictures else None
        return TextResult(
            words=sentence.forms,
            structures=structures,
            alternatives=self._alternatives(marginals),
            overlay=overlay,
            partial=self._conllu(sentence, required) if request.conllu else None,
        )

    def _conllu(self, sentence: Sentence, parts: Sequence[AnnotatedPart]) -> str | None:
        annotated = self.structures.annotated(sentence, parts)
        return None if annotated is None else str(annotated)

    def _conditioned(
        self, distribution: StructuredDistribution, request: PredictRequest
    ) -> StructuredDistribution:
        shape = distribution.scores[0].shape[1:]
        required, forbidden = (
            self.structures.mask(parts, shape) for parts in (request.required, request.forbidden)
        )
        return reshaped(distribution, required, forbidden, request.temperature)

    def _parts(
        self, event: Tensor, relations: Sequence[str], marginals: Tensor | None
    ) -> list[AnnotatedPart]:
        used = self.structures.used(event)
        names: Sequence[str | None] = relations or [None] * len(used)
        return [
            AnnotatedPart(
                part=part, relation=name, probability=None if marginals is None else marginals[index].item()
            )
            for index, name in zip(used, names, strict=True)
            if (part := self.structures.part(index)) is not None
        ]

    def _alternatives(self, marginals: Tensor | None) -> list[AnnotatedPart]:
        if marginals is None:
            return []
        likely = marginals >= LEAST
        alternatives = (
            (self.structures.part(tuple(index)), probability)
            for index, probability in zip(likely.nonzero().tolist(), marginals[likely].tolist(), strict=True)
        )
        return [
            AnnotatedPart(part=part, probability=probability)
            for part, probability in alternatives
            if part is not None
        ]


def _overlaid(pictures: Sequence[Diagram | BracketDiagram], weights: Sequence[float]) -> str | None:
    """Draw several structures in one picture as SVG; None if there is only one structure."""
    return svg.overlaid(WeightedStructures(pictures, [min(weight, 1.0) for weight in weights]))


def examples(model: Model) -> list[str]:
    """Return the example texts of a model; a pair of texts has two lines."""
    return ["\n".join(parts) for parts in model.examples]


def serve(name: str, model: Model, words: int) -> ServedModel:
    """Wrap a model to serve its distribution over structures; without a distribution, its predictions.

    Args:
        name: The name of the model.
        model: The model, ready to predict.
        words: Maximum number of words of a text.
    """
    if isinstance(model, EncodedModel):
        _cache_last(model.encoder)
    structures = _structures(model)
    return (
        ServedPrediction(name, model, words)
        if structures is None
        else ServedDistribution(name, structures, words)
    )


def _structures(model: Model) -> Structures[Any, Any] | None:
    if isinstance(model, Tagger):
        return Tags(model)
    if isinstance(model, Parser):
        return Arcs(model)
    if isinstance(model, SpanModel) and isinstance(model.layer, LabelSpans):
        return Spans(model)
    if isinstance(model, SpanModel) and isinstance(model.layer, CodeSpans):
        return Codes(model)
    return None


def _cache_last(encoder: Any) -> None:
    """Let an encoder cache its last result in each thread.

    The distribution of a sentence and its pictures both need the word vectors, whose computation is the slowest
    step.
    """
    encode, last = encoder.forward, threading.local()

    def forward(inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        if getattr(last, "inputs", None) is not inputs:
            last.vectors = encode(inputs, lengths)
            last.inputs = inputs
        return cast("Tensor", last.vectors)

    encoder.forward = forward
