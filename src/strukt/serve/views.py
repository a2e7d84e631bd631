"""Views of a distribution over structures: the best structure, marginals, samples, k-best, SparseMAP."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.errors import InfeasibleError
from strukt.kernels.semiring import NEG_INF
from strukt.serve.messages import PredictRequest, View
from strukt.serve.workers import Deadline
from strukt.structures.distribution import StructuredDistribution
from strukt.viz.structures import LEAST

SEARCHES = 200
"""Maximum number of oracle calls of SparseMAP."""

AT_A_TIME = 25
"""Number of samples to draw before the deadline is checked again, and other threads may draw theirs."""

_turn = threading.Lock()
"""Held by the thread that draws samples, because all threads share PyTorch's random state."""


class Seen(NamedTuple):
    """The structures of a sentence that a view shows.

    Attributes:
        events: `(m, *event)`; the structures, the most probable or the heaviest first.
        weights: The weight of each structure; None in views without weights.
    """

    events: Tensor
    weights: list[float] | None = None


def at_temperature(distribution: StructuredDistribution, temperature: float) -> StructuredDistribution:
    """Return the distribution with all scores divided by a temperature."""
    return distribution._with_scores(*(score / temperature for score in distribution.scores))


def best(distribution: StructuredDistribution, request: PredictRequest, deadline: Deadline) -> Seen:  # noqa: ARG001
    """Return the structure with the highest score."""
    return Seen(distribution.mode)


def kbest(distribution: StructuredDistribution, request: PredictRequest, deadline: Deadline) -> Seen:  # noqa: ARG001
    """Return the `k` best structures, or all structures if there are fewer.

    Raises:
        InfeasibleError: If all structures are forbidden.
    """
    scores, events = distribution.topk(request.k)
    feasible = scores[0] > NEG_INF
    if not feasible.any():
        raise InfeasibleError("every structure is forbidden")
    return Seen(events[0, feasible])


def samples(distribution: StructuredDistribution, request: PredictRequest, deadline: Deadline) -> Seen:
    """Draw `k` samples; return the distinct structures with their shares of the samples, the most frequent first.

    Raises:
        LateError: If the deadline passes before all samples are drawn.
    """
    some, state = [], torch.Generator().manual_seed(request.seed).get_state()
    for first in range(0, request.k, AT_A_TIME):
        deadline.check()
        with _turn, torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state)
            some.append(distribution.sample((min(AT_A_TIME, request.k - first),)).squeeze(1))
            state = torch.get_rng_state()
    drawn = torch.cat(some)
    counts = Counter(tuple(event.flatten().tolist()) for event in drawn)
    ranked = counts.most_common()
    events = torch.tensor([event for event, _ in ranked]).reshape(-1, *drawn.shape[1:])
    return Seen(events, [count / request.k for _, count in ranked])


def few(distribution: StructuredDistribution, request: PredictRequest, deadline: Deadline) -> Seen:  # noqa: ARG001
    """Return the structures of SparseMAP with a weight of at least `LEAST`, but at least the heaviest."""
    result = distribution.sparsemap(max_iterations=SEARCHES)
    weights, order = result.weights[0].sort(descending=True, stable=True)
    count = max(1, int((weights >= LEAST).sum()))
    return Seen(result.events[0, order[:count]], weights[:count].tolist())


VIEWS: Mapping[View, Callable[[StructuredDistribution, PredictRequest, Deadline], Seen]] = {
    "mode": best,
    "marginals": best,
    "samples": samples,
    "kbest": kbest,
    "sparsemap": few,
}
"""The function that computes the structures of each view."""
