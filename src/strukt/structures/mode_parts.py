"""The parts of the mode, with a surrogate gradient: straight-through, SPIGOT, or the structured perceptron."""

from __future__ import annotations

from torch import Tensor

from strukt.inference import surrogate_gradients
from strukt.inference.settings import require_one_of
from strukt.inference.sparsemap import TOL
from strukt.kernels.semiring import NEG_INF, forbidden_only
from strukt.structures.exact import ExactInference
from strukt.structures.sparse import ACTIVE_SET, sparsemap

MOST_NEAREST = 100
"""The largest number of calls of the mode oracle in the projection of SPIGOT, which usually needs few."""

SURROGATES = ("straight-through", "spigot", "perceptron")
"""The names of surrogate gradients; see `mode_parts`."""


def mode_parts(distribution: ExactInference, gradient: str, step: float) -> Tensor:
    """Return the parts of the mode with a surrogate gradient; see `StructuredDistribution.mode_parts`."""
    require_one_of("gradient", gradient, SURROGATES)
    main, *others = distribution.scores

    def best_parts(scores: Tensor) -> Tensor:
        return distribution.to_parts(distribution._with_scores(scores, *others).mode).to(scores.dtype)

    def project(point: Tensor) -> Tensor:
        allowed = point.masked_fill(main == NEG_INF, NEG_INF)
        moved = distribution._with_scores(allowed, *(forbidden_only(score) for score in others))
        return sparsemap(moved, MOST_NEAREST, TOL, ACTIVE_SET, None).marginals

    if gradient == "straight-through":
        allowed = distribution._main_within() & (main != NEG_INF)
        return surrogate_gradients.straight_through(best_parts(main.detach()), main.masked_fill(~allowed, 0.0))
    if gradient == "perceptron":
        return surrogate_gradients.implicit_mle(main, best_parts, step)
    return surrogate_gradients.spigot(main, best_parts, project, step)
