"""A model that the service serves under a name: its views, and its results for texts."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from torch import Tensor
from typing_extensions import override

from strukt.data.parts import part_of
from strukt.data.sentence import Sentence
from strukt.serve.layers import Layer, RequestError, alternatives_of, layers_of, overlaid, pictures_of
from strukt.serve.messages import (
    AnnotatedPart,
    Kind,
    ModelCard,
    Part,
    PredictRequest,
    Structure,
    TextResult,
    View,
    kind_of,
)
from strukt.serve.sentences import sentence_of
from strukt.serve.span_structures import Chunks, Codes, Spans
from strukt.serve.structures import AnyStructures, PartError, shown
from strukt.serve.word_structures import Arcs, Tags
from strukt.serve.workers import Deadline
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoded_model import EncodedModel
from strukt.tasks.common.model import Model
from strukt.tasks.common.sentence_model import SentenceModel
from strukt.tasks.common.spans.code_spans import CodeSpans
from strukt.tasks.common.spans.label_spans import LabelSpans
from strukt.tasks.common.spans.model import SpanModel
from strukt.tasks.dependency.model import Parser
from strukt.tasks.ner.tag_spans import TagSpans
from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.pipeline.prediction import JointPrediction
from strukt.tasks.tag.model import Tagger
from strukt.viz import svg


class ServedModel(ABC):
    """A model that is served under a name.

    A subclass implements `describe`, which the constructor calls, and `predict`.

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

        Args:
            sentence: One of the sentences that `sentences` returned for the request.
            request: The request.
            deadline: The deadline of the request.

        Raises:
            StruktError: If the request has no answer, for example because no structure has all required parts.
            LateError: If the deadline passes before the result is complete.
        """

    def sentences(self, request: PredictRequest) -> list[Sentence]:
        """Return the texts of a request as sentences.

        Raises:
            RequestError: If the model does not support the view of the request or required and forbidden parts, or
                if there are such parts for several texts.
            TextError: If a text cannot be read.
            DataError: If the reader of the model rejects a text.
        """
        if request.view not in self.card.views:
            raise RequestError(
                f"view {request.view}: the model {self.card.name} has only {', '.join(self.card.views)}"
            )
        conditions = [*request.required, *request.forbidden]
        if conditions and not self.card.parts:
            raise RequestError(f"the model {self.card.name} has no parts that can be required or forbidden")
        if conditions and len(request.texts) > 1:
            raise RequestError("required and forbidden parts need a single text; give one text")
        return [sentence_of(self.model, text, self.words) for text in request.texts]


class ServedPrediction(ServedModel):
    """A served model without a distribution over structures: its only view is `mode`, and its results are text."""

    @override
    def describe(self, name: str) -> ModelCard:
        return ModelCard(name=name, task=self.model.task, views=["mode"], examples=examples(self.model))

    @override
    def predict(self, sentence: Sentence, request: PredictRequest, deadline: Deadline) -> TextResult:
        (predicted,) = self.model.predict([sentence])
        deadline.check()
        structures = [
            Structure(parts=[], pictures=[svg.draw(picture)])
            for picture in (self.model.diagrams([sentence]) if request.pictures else [])
        ]
        return TextResult(words=sentence.forms, structures=structures, output=str(predicted))


class ServedDistribution(ServedModel):
    """A served model with distributions over structures: one, or in a pipeline one for each component.

    Args:
        name: The name of the model.
        model: The model, ready to predict.
        structures: The structures of each component of a pipeline, by its name; otherwise, those of the model, by
            its task.
        words: Maximum number of words of a text.
    """

    def __init__(self, name: str, model: Model, structures: Mapping[str, AnyStructures], words: int) -> None:
        self.structures = structures
        super().__init__(name, model, words)

    @override
    def describe(self, name: str) -> ModelCard:
        each = self.structures.values()
        all_views: Sequence[View] = get_args(View) if len(each) == 1 else ("mode", "marginals")
        return ModelCard(
            name=name,
            task=self.model.task,
            views=[view for view in all_views if view != "marginals" or all(one.has_marginals for one in each)],
            parts={one.kind: list(one.labels) for one in each if one.kind},
            file=next(iter(each)).file if len(each) == 1 else "layers.conllu",
            examples=examples(self.model),
        )

    @override
    def predict(self, sentence: Sentence, request: PredictRequest, deadline: Deadline) -> TextResult:
        model = cast("SentenceModel", self.model)
        model.require_usable(sentence)
        self._require_kinds([*request.required, *request.forbidden])
        layers: list[list[Layer]] = []
        alternatives: list[AnnotatedPart] = []
        with model.predicting():
            for structures, batch in self._batches(model.collate([sentence], with_targets=False).to(model.device)):
                distribution = structures.distribution(batch, request)
                layers.append(list(layers_of(structures, distribution, batch, request, deadline)))
                if request.view == "marginals":
                    alternatives += alternatives_of(structures, distribution.marginals[0].clamp(0, 1))
        rows = list(zip(*layers, strict=True))
        return TextResult(
            words=sentence.forms,
            structures=[self._structure(sentence, row, request) for row in rows],
            alternatives=alternatives,
            overlay=overlaid(layers[0]) if request.pictures and len(layers) == 1 else None,
            partial=self._partial(sentence, request) if request.annotation else None,
        )

    def _batches(self, batch: Batch) -> list[tuple[AnyStructures, Batch]]:
        """Return the batch for each component."""
        batches = self.model.batches(batch) if isinstance(self.model, Pipeline) else {self.model.task: batch}
        return [(structures, batches[name]) for name, structures in self.structures.items()]

    def _require_kinds(self, parts: Sequence[Part]) -> None:
        """Raise PartError if the model has no parts of the kind of one of these."""
        for part in parts:
            if kind_of(part) not in self.card.parts:
                fields = " or ".join(FIELDS[kind] for kind in self.card.parts)
                raise PartError(f"{shown(part)}: the parts of this model have {fields}")

    def _structure(self, sentence: Sentence, layers: Sequence[Layer], request: PredictRequest) -> Structure:
        """Join the layers of all components into one structure of the response."""
        annotation = None
        if request.annotation:
            prediction = JointPrediction({str(place): each.prediction for place, each in enumerate(layers)})
            annotation = str(prediction.annotate(self._savable(sentence)))
        return Structure(
            parts=[part for layer in layers for part in layer.parts],
            probability=math.prod(layer.probability for layer in layers),
            weight=layers[0].weight,
            pictures=[svg.draw(each) for each in pictures_of(layers)] if request.pictures else [],
            annotation=annotation,
        )

    def _savable(self, sentence: Sentence) -> Sentence:
        """Return a sentence in the format in which annotated sentences are saved."""
        for structures in self.structures.values():
            sentence = structures.savable(sentence)
        return sentence

    def _partial(self, sentence: Sentence, request: PredictRequest) -> str | None:
        """Return the sentence with only the required and forbidden parts; None if the model has no such parts."""
        if not self.card.parts:
            return None
        forbidden = [part_of(part.model_dump(exclude_none=True), len(sentence)) for part in request.forbidden]
        sentence = self._savable(sentence).forbidding(forbidden)
        for structures in self.structures.values():
            sentence = structures.partial(sentence, structures.chosen(request.required))
        return str(sentence)


FIELDS: Mapping[Kind, str] = {
    "tag": "word and tag",
    "arc": "word and head",
    "span": "start, end and label",
}
"""The fields of parts, for messages."""


def examples(model: Model) -> list[str]:
    """Return the example texts of a model; a pair of texts has two lines."""
    return ["\n".join(parts) for parts in model.examples]


def serve(name: str, model: Model, words: int) -> ServedModel:
    """Wrap a model to serve its distribution over structures, or only its predictions if it has none.

    Args:
        name: The name of the model.
        model: The model, ready to predict. It is modified: its encoder, if it has one, caches the last result of
            each thread from now on.
        words: Maximum number of words of a text.
    """
    if isinstance(model, EncodedModel):
        _cache_last(model.encoder)
    components = cast("Mapping[str, Model]", model.parts) if isinstance(model, Pipeline) else {model.task: model}
    structures = {name: _structures(component) for name, component in components.items()}
    known = {name: each for name, each in structures.items() if each is not None}
    if len(known) < len(structures):
        return ServedPrediction(name, model, words)
    return ServedDistribution(name, model, known, words)


def _structures(model: Model) -> AnyStructures | None:
    """Return the structures of a model that is not a pipeline; None if it has no distribution to serve."""
    if isinstance(model, Tagger):
        return Tags(model)
    if isinstance(model, Parser):
        return Arcs(model)
    if isinstance(model, SpanModel) and isinstance(model.layer, LabelSpans):
        return Spans(model)
    if isinstance(model, SpanModel) and isinstance(model.layer, CodeSpans):
        return Codes(model)
    if isinstance(model, SpanModel) and isinstance(model.layer, TagSpans) and model.layer.decoder == "crf":
        return Chunks(model)
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
