"""Layers: the structures that a view shows of a sentence for one task, and their pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from torch import Tensor

from strukt.errors import InfeasibleError, StruktError
from strukt.serve.messages import AnnotatedPart, PredictRequest
from strukt.serve.structures import Answer, AnyStructures, Picture
from strukt.serve.views import VIEWS
from strukt.serve.workers import Deadline
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.prediction import Prediction
from strukt.viz import Diagram, WeightedStructures, svg
from strukt.viz.structures import LEAST


class RequestError(StruktError):
    """There is no model of the requested name, or it does not support the request or has no answer to it."""


class Layer(NamedTuple):
    """A structure of one task of a sentence.

    Attributes:
        parts: Its parts.
        probability: Its probability.
        weight: Its weight in the view; None in views without weights.
        prediction: The structure as a prediction, which can be written to a file.
        picture: Its picture.
    """

    parts: list[AnnotatedPart]
    probability: float
    weight: float | None
    prediction: Prediction
    picture: Picture


def layers_of(
    structures: AnyStructures,
    distribution: StructuredDistribution,
    batch: Batch,
    request: PredictRequest,
    deadline: Deadline,
) -> Iterator[Layer]:
    """Yield the structures of one task that a view shows.

    Args:
        structures: The structures of the task.
        distribution: Their distribution for the sentence, under the conditions of the request.
        batch: The sentence, as a batch.
        request: The request with the view.
        deadline: The deadline of the request.

    Raises:
        RequestError: If there is no structure.
        LateError: If the deadline passes.
    """
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
    for number, event in enumerate(seen.events):
        deadline.check()
        prediction = structures.prediction(batch, event, request)
        answer = Answer(batch.sentences[0], request, event, prediction, marginals)
        yield Layer(
            structures.annotated_parts(answer),
            probabilities[number],
            seen.weights[number] if seen.weights else None,
            prediction,
            structures.picture(answer),
        )


def alternatives_of(structures: AnyStructures, marginals: Tensor) -> Iterator[AnnotatedPart]:
    """Yield all parts of probability `LEAST` or more."""
    likely = marginals >= LEAST
    for index, probability in zip(likely.nonzero().tolist(), marginals[likely].tolist(), strict=True):
        part = structures.part(tuple(index))
        if part is not None:
            yield AnnotatedPart(part=part, probability=probability)


def pictures_of(layers: Sequence[Layer]) -> list[Picture]:
    """Return the pictures of the layers of a structure, with tags and arcs in one picture."""
    of_words = [layer.picture for layer in layers if isinstance(layer.picture, Diagram)]
    others = [layer.picture for layer in layers if not isinstance(layer.picture, Diagram)]
    if len(of_words) == 2:
        tags, arcs = of_words
        of_words = [replace(arcs, tags=tags.tags, tag_probabilities=tags.tag_probabilities)]
    return [*of_words, *others]


def overlaid(layers: Sequence[Layer]) -> str | None:
    """Draw several structures in one picture as SVG; None if there is only one structure."""
    weights = [layer.probability if layer.weight is None else layer.weight for layer in layers]
    pictures = [layer.picture for layer in layers]
    return svg.overlaid(WeightedStructures(pictures, [min(weight, 1.0) for weight in weights]))
