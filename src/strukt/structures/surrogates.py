"""Surrogate gradients of the best structure (straight-through, SPIGOT, perceptron), whose true gradient is 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from strukt.inference import perturbation
from strukt.inference.settings import require_one_of
from strukt.kernels.semiring import NEG_INF, forbidden_only

if TYPE_CHECKING:
    from strukt.structures.distribution import StructuredDistribution

MOST_NEAREST = 100
"""The bound on the structures in the search for the nearest marginals; a moved point needs few."""

SURROGATES = ("straight-through", "spigot", "perceptron")
"""The names of surrogate gradients; see `mode_parts`."""


def mode_parts(distribution: StructuredDistribution, gradient: str, step: float) -> Tensor:
    """Return the parts of the mode with a surrogate gradient; see `StructuredDistribution.mode_parts`."""
    require_one_of("gradient", gradient, SURROGATES)
    main, *others = distribution.scores

    def best_parts(scores: Tensor) -> Tensor:
        return distribution.to_parts(distribution._with_scores(scores, *others).mode).to(scores.dtype)

    def project(point: Tensor) -> Tensor:
        allowed = point.masked_fill(main == NEG_INF, NEG_INF)
        return (
            distribution._with_scores(allowed, *(forbidden_only(score) for score in others))
            .sparsemap(MOST_NEAREST)
            .marginals
        )

    if gradient == "straight-through":
        allowed = distribution._main_within() & (main != NEG_INF)
        return perturbation.straight_through(best_parts(main.detach()), main.masked_fill(~allowed, 0.0))
    if gradient == "perceptron":
        return perturbation.implicit_mle(main, best_parts, step)
    return perturbation.spigot(main, best_parts, project, step)
