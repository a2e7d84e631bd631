"""What there is to see of a distribution over structures: the best one, marginals, samples, and others."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.errors import InfeasibleError
from strukt.kernels.semiring import NEG_INF
from strukt.serve.messages import Question, View
from strukt.serve.workers import Deadline
from strukt.structures.distribution import StructuredDistribution
from strukt.viz.structures import LEAST

SEARCHES = 200
"""Best structures that SparseMAP looks for."""

AT_A_TIME = 25
"""Samples that are drawn before others get their turn, and the time is looked at again."""

_turn = threading.Lock()
"""Of the one thread that draws: kernels take random numbers from a state that all threads share."""


class Seen(NamedTuple):
    """Some structures of one sentence.

    Attributes:
        events: ``(m, *event)``, the most probable or heaviest first.
        weights: Of each, if it has one.
    """

    events: Tensor
    weights: list[float] | None = None


def reshaped(
    distribution: StructuredDistribution, required: Tensor, forbidden: Tensor, temperature: float
) -> StructuredDistribution:
    """The distribution given some parts, at a temperature.

    Args:
        distribution: Of one sentence, with a batch axis.
        required: Boolean, the shape of the main scores of the sentence.
        forbidden: The same.
        temperature: By which all scores are divided.
    """
    given = distribution.condition(required.unsqueeze(0), forbidden.unsqueeze(0))
    return given._with_scores(*(score / temperature for score in given.scores))


def best(distribution: StructuredDistribution, question: Question, deadline: Deadline) -> Seen:  # noqa: ARG001
    """The structure of the highest score."""
    return Seen(distribution.mode)


def kbest(distribution: StructuredDistribution, question: Question, deadline: Deadline) -> Seen:  # noqa: ARG001
    """The `k` best structures, fewer where there are not so many.

    Raises:
        InfeasibleError: There is none.
    """
    scores, events = distribution.topk(question.k)
    found = scores[0] > NEG_INF
    if not found.any():
        raise InfeasibleError("every structure is forbidden")
    return Seen(events[0, found])


def samples(distribution: StructuredDistribution, question: Question, deadline: Deadline) -> Seen:
    """The different ones among `k` samples, the most frequent first, with their share.

    Raises:
        LateError: The time has come before all are drawn.
    """
    some, state = [], torch.Generator().manual_seed(question.seed).get_state()
    for first in range(0, question.k, AT_A_TIME):
        deadline.check()
        with _turn, torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state)
            some.append(distribution.sample((min(AT_A_TIME, question.k - first),)).squeeze(1))
            state = torch.get_rng_state()
    drawn = torch.cat(some)
    counts = Counter(tuple(event.flatten().tolist()) for event in drawn)
    ranked = counts.most_common()
    events = torch.tensor([event for event, _ in ranked]).reshape(-1, *drawn.shape[1:])
    return Seen(events, [count / question.k for _, count in ranked])


def few(distribution: StructuredDistribution, question: Question, deadline: Deadline) -> Seen:  # noqa: ARG001
    """The structures of SparseMAP, with their weights: the heaviest, and all of a weight of at least `LEAST`."""
    found = distribution.sparsemap(max_iterations=SEARCHES)
    weights, order = found.weights[0].sort(descending=True, stable=True)
    count = max(1, int((weights >= LEAST).sum()))
    return Seen(found.events[0, order[:count]], weights[:count].tolist())


VIEWS: Mapping[View, Callable[[StructuredDistribution, Question, Deadline], Seen]] = {
    "mode": best,
    "marginals": best,
    "samples": samples,
    "kbest": kbest,
    "sparsemap": few,
}
"""The structures that each view shows."""
