"""SparseMAP of dependency trees with a budget on the number of dependents of each head.

    argmax over mu in M of  <scores, mu> - 1/2 ||mu||^2     such that  sum over words m of  mu[m, h] <= budget

M is the marginal polytope of the trees. This is the LP-SparseMAP (Niculae and Martins 2020) of a factor graph with
a tree and a budget for each head. Only the expected numbers of dependents are within the budget: single trees of a
solution may exceed it.

Each head has a price for a dependent, and the solution is the SparseMAP of the trees at the right prices. These
prices maximise the dual function, which is concave, and quadratic on each face of M. Damped Newton steps on the
face of the last solution find them in a few SparseMAPs; the ADMM of `FactorGraph.lp_sparsemap` takes tens of them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.inference.settings import require_iterations
from strukt.inference.sparsemap import SparseMAP
from strukt.kernels.sparsemap.products import response
from strukt.structures.non_projective_tree.distribution import NonProjectiveTree
from strukt.structures.projective_tree.distribution import ProjectiveTree

Trees = NonProjectiveTree | ProjectiveTree

EXCESS = 1e-6
"""The tolerated excess of the number of dependents of a head over the budget."""

INNER = 0.1 * EXCESS
"""The tolerance of the marginals in each SparseMAP."""

ROUNDING = 1e-12
"""The relative decrease of the dual value that counts as a rounding error."""

RIDGE = 1e-10
"""The ridge that keeps a linear system solvable if a head's price has no effect."""


@dataclass(frozen=True)
class BudgetedTrees:
    """The sparse marginals of trees of n words whose expected numbers of dependents are within a budget.

    Attributes:
        marginals: ``(batch, n, n + 1)``, the marginal of each arc; differentiable.
        prices: ``(batch, n + 1)``, the price of a dependent for each head: the marginals are the SparseMAP of the
            scores of the arcs minus the prices of their heads. The price of a head below the budget is 0.
        status: ``(batch,)``, True for items in which no head exceeds the budget, and heads with a price use all of
            it, up to `EXCESS`.
        iterations: The number of iterations, each with one vector of prices.
    """

    marginals: Tensor
    prices: Tensor
    status: Tensor
    iterations: int


def sparsemap_within_budget(trees: Trees, budget: int, max_iterations: int = 100) -> BudgetedTrees:
    """Return the sparse marginals of trees such that expected numbers of dependents are within a budget.

    Args:
        trees: Trees with one batch axis.
        budget: The largest number of dependents of a head, including the root.
        max_iterations: The largest number of iterations, each with one vector of prices.

    Raises:
        ValueError: If there are other batch axes or labels, or ``budget`` or ``max_iterations`` is below 1.
        InfeasibleError: If every tree of some item is forbidden.

    Warns:
        UserWarning: If the ``status`` of some item is False.

    Complexity: About 10 SparseMAPs for an item of n words, and O(k^3 + k n^2 + n^3) for each with k trees.

    Examples:
        >>> arcs = torch.zeros(1, 3, 4)
        >>> arcs[0, :, 1] = 3.0  # both other words would depend on the first
        >>> result = sparsemap_within_budget(NonProjectiveTree(arcs), 1)
        >>> result.marginals[0, :, 1].sum(), result.prices[0, 1] > 0
        (tensor(1.), tensor(True))
    """
    require_batch_of_arcs(trees)
    if budget < 1:
        raise ValueError(f"budget is {budget}; expected at least 1")
    require_iterations(max_iterations, "max_iterations")
    arcs = trees.scores[0]
    exact = trees._with_scores(arcs.double())
    prices, status, iterations = _prices(trees._with_scores(exact.scores[0].detach()), budget, max_iterations)
    result = _at(exact, prices).sparsemap(tol=INNER)
    marginals = result.marginals
    if marginals.requires_grad:
        marginals = marginals + _moved(result, trees.lengths, prices > 0)
    if not bool(status.all()):
        warnings.warn(
            f"{int((~status).sum())} of {len(status)} trees do not meet the budget after {iterations} iterations; "
            "give a larger max_iterations",
            stacklevel=2,
        )
    return BudgetedTrees(marginals.to(arcs.dtype), prices.to(arcs.dtype), status, iterations)


def require_batch_of_arcs(trees: Trees) -> None:
    """Check that trees have one batch axis and no labels.

    Raises:
        ValueError: If they do not.
    """
    if len(trees.batch_shape) != 1:
        raise ValueError(f"trees has batch shape {tuple(trees.batch_shape)}; expected one batch axis")
    if trees.labelled:
        raise ValueError("trees has labels; expected trees without: a budget counts arcs")


class _Dual(NamedTuple):
    """The dual function at some prices.

    Attributes:
        prices: ``(batch, n + 1)``, the price of each head.
        value: ``(batch,)``, the value of the dual function.
        excess: ``(batch, n + 1)``, its gradient: the number of dependents of each head minus the budget.
        curvature: ``(batch, n + 1, n + 1)``, its negated Hessian: the rate at which these numbers fall with the
            prices.
    """

    prices: Tensor
    value: Tensor
    excess: Tensor
    curvature: Tensor

    def of(self, rows: Tensor) -> _Dual:
        """Return the dual function of the items with these indices."""
        return _Dual(*(part[rows] for part in self))


@torch.no_grad()
def _prices(trees: Trees, budget: int, most: int) -> tuple[Tensor, Tensor, int]:
    """Return the prices ``(batch, n + 1)``, a mask ``(batch,)`` of items that meet the budget, and the iterations.

    They are those of `BudgetedTrees`; ``most`` is the largest number of iterations.
    """
    arcs = trees.scores[0]
    batch, _, heads = arcs.shape
    dual = _dual(trees, arcs.new_zeros(batch, heads), budget)
    damping = arcs.new_ones(batch)
    for iteration in range(1, most + 1):
        wrong = torch.where(dual.prices > 0, dual.excess.abs(), dual.excess).amax(-1) > EXCESS
        rows = wrong.nonzero()[:, 0]
        if not len(rows) or iteration == most:
            break
        old = dual.of(rows)
        new = _dual(_rows(trees, rows), _step(old, damping[rows]), budget)
        better = new.value >= old.value - ROUNDING * (1.0 + old.value.abs())
        damping[rows] = torch.where(better, 0.1 * damping[rows], 10.0 * damping[rows])
        for whole, part in zip(dual, new, strict=True):
            whole[rows[better]] = part[better]
    return dual.prices, ~wrong, iteration


def _step(dual: _Dual, damping: Tensor) -> Tensor:
    """Return the prices after a damped Newton step, at which active budgets would be met on the same face.

    ``damping (batch,)`` is added to the diagonal of the curvature: the larger it is, the shorter the step.
    """
    active = ((dual.prices > 0) | (dual.excess > 0)).to(dual.prices)
    system = dual.curvature * active.unsqueeze(-1) * active.unsqueeze(-2)
    system = system + torch.diag_embed(1.0 - active + active * damping.unsqueeze(-1))
    step = torch.linalg.solve(system, (dual.excess * active).unsqueeze(-1)).squeeze(-1)
    prices: Tensor = (dual.prices + step).clamp(min=0.0)
    return prices


def _dual(trees: Trees, prices: Tensor, budget: int) -> _Dual:
    """Compute the dual function at some prices, by one SparseMAP of each item."""
    main = trees.scores[0] - prices.unsqueeze(-2)
    result = _at(trees, prices).sparsemap(tol=INNER)
    point = result.marginals
    gain = torch.where(point > 0, main * point, 0.0).sum((-1, -2)) - 0.5 * point.square().sum((-1, -2))
    dependents, moves = _face(result, trees.lengths)
    curvature = dependents @ moves @ dependents.mT
    return _Dual(prices, -gain - budget * prices.sum(-1), point.sum(-2) - budget, curvature)


def _face(result: SparseMAP, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of dependents of each head in each tree of the solution, ``(batch, n + 1, k)``.

    Also return the derivatives of the weights of the trees with respect to their scores, ``(batch, k, k)``.
    """
    events = result.events
    batch, k, n = events.shape
    inside = (torch.arange(n, device=events.device) < lengths.unsqueeze(-1)).unsqueeze(1) & (events >= 0)
    counts = result.marginals.new_zeros(batch, k, n + 1)
    counts = counts.scatter_add(2, events.clamp(min=0), inside.to(counts))
    places = torch.arange(n, device=events.device) * (n + 1) + events.clamp(min=0)
    sizes = inside.any(-1).sum(-1)
    each = lengths.unsqueeze(-1).expand(batch, k).contiguous()
    moves = response(places.int().cpu().numpy(), each.cpu().numpy(), sizes.cpu().numpy(), n * (n + 1))
    return counts.mT, moves.to(counts)


def _moved(result: SparseMAP, lengths: Tensor, active: Tensor) -> Tensor:
    """Return zeros ``(batch, n, n + 1)`` whose derivative is that of the marginals through the prices.

    The prices depend on the scores: they keep the number of dependents of each ``active`` head at the budget.
    """
    dependents, moves = _face(result, lengths)
    on = active.to(dependents)
    curvature = dependents @ moves @ dependents.mT * on.unsqueeze(-1) * on.unsqueeze(-2)
    excess = result.marginals.sum(-2) * on
    change = torch.linalg.solve(
        curvature + torch.diag_embed(1.0 - on + RIDGE), (excess - excess.detach()).unsqueeze(-1)
    )
    weights = -(moves @ dependents.mT @ change).squeeze(-1)
    heads = result.events.mT
    shares = torch.where(heads >= 0, weights.unsqueeze(-2), 0.0)
    return torch.zeros_like(result.marginals).scatter_add(2, heads.clamp(min=0), shares)


def _at(trees: Trees, prices: Tensor) -> Trees:
    """Return the trees with the price of its head subtracted from the score of each arc."""
    return trees._with_scores(trees.scores[0] - prices.unsqueeze(-2))


def _rows(trees: Trees, rows: Tensor) -> Trees:
    """Return the trees of the items with these indices."""
    return trees._rebuilt((trees.scores[0][rows],), trees.lengths[rows], trees.constants)
