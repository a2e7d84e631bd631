"""Gradients that stand in place of that of the best structure, which is 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from strukt.inference import perturbation
from strukt.inference.settings import require_one_of
from strukt.kernels.semiring import NEG_INF, forbidden_only

if TYPE_CHECKING:
    from strukt.structures.distribution import StructuredDistribution

MOST_NEAREST = 100
"""Structures that the search for the marginals nearest to a point looks at: few are near one that was moved."""

SURROGATES = ("straight-through", "spigot", "perceptron")
"""Names of what may stand in place of the gradient of a mode; see `mode_parts`."""


def mode_parts(distribution: StructuredDistribution, gradient: str, step: float) -> Tensor:
    """The parts of the mode with a surrogate gradient in the main scores; see the method of this name."""
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
