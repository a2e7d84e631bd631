"""The steps of `strukt.kernels.sparsemap.active_set` for all items of a batch at once.

No step waits for values on the host. If an item drops a structure on the way to the optimum of its set, its step
continues in the next round, in which the oracle's structure for the item is ignored.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.sparsemap.active_set import ROUNDING, STALLED
from strukt.kernels.sparsemap.dense.state import DenseSets, Structures
from strukt.kernels.sparsemap.result import Settings
from strukt.kernels.sparsemap.state import INFEASIBLE, OPTIMAL, OPTIMISING, SETTLING, STOPPED


def is_open(sets: DenseSets) -> Tensor:
    """Return a mask of the items that need another round, ``(batch,)``."""
    return (sets.phases == OPTIMISING) | (sets.phases == SETTLING)


def begin(sets: DenseSets, structures: list[Structures], weights: Tensor) -> None:
    """Start from k structures for each item, with weights ``(batch, k)``; k may be 0.

    Affinely dependent and forbidden structures, and those of weight 0, are left out, and the other weights
    renormalised. Items of which none is left start from an empty set.
    """
    for new, weight in zip(structures, weights.unbind(1), strict=True):
        _set_base(sets, new.feasible, new)
        position = sets.position(new, sets.totals(new.parts))
        joins = new.feasible & (weight > 0.0) & position.is_outside
        sets.append(joins, new, new.scores - sets.base, weight, position)
    begun = sets.used.any(-1)
    sets.weights = sets.weights / torch.where(begun, sets.weights.sum(-1), 1.0).unsqueeze(-1)
    sets.point = sets.mixed(sets.weights)
    sets.phases = torch.where(begun, SETTLING, sets.phases)


def advance(sets: DenseSets, new: Structures, settings: Settings) -> None:
    """Add the oracle's structures to the sets that requested one; move the weights of all open sets."""
    asked = sets.phases == OPTIMISING
    answered = asked & new.feasible
    sets.calls = sets.calls + answered
    sets.phases = torch.where(asked & ~new.feasible, INFEASIBLE, sets.phases)
    _include(sets, answered, new, settings)
    _settle(sets, settings)


def _set_base(sets: DenseSets, where: Tensor, new: Structures) -> None:
    """Set ``base``, the score that is subtracted from all others, to that of the first structure of a set."""
    sets.base = torch.where(where & ~sets.used.any(-1), new.scores, sets.base)


def _include(sets: DenseSets, answered: Tensor, new: Structures, settings: Settings) -> None:
    """Add structures with a gain to their sets; a structure without one shows that its set is optimal."""
    _set_base(sets, answered, new)
    scale, score = 1.0 + sets.base.abs() + new.counts, new.scores - sets.base
    gap = (sets.gain(new, score) - sets.mean_gain()).clamp(min=0.0)
    sets.gap = torch.where(answered & sets.used.any(-1), gap, sets.gap)
    optimal = sets.gap <= (ROUNDING * scale).clamp(min=0.5 * settings.tol**2)
    common = sets.totals(new.parts)
    position = sets.position(new, common)
    dependent = answered & ~optimal & ~position.is_member & (position.pivots == 0.0)
    weight = _make_space(sets, dependent, score, ROUNDING * scale, position.shares)
    is_outside = sets.position(new, common).is_outside
    optimal = answered & (optimal | (~is_outside & (sets.gap <= STALLED * scale)))
    enters = answered & ~optimal
    # Rounding of huge scores has made the weights imprecise: restart from one structure.
    sets.clear(enters & ~is_outside)
    _set_base(sets, answered, new)
    weight = torch.where(sets.used.any(-1), weight, 1.0)
    sets.append(enters, new, new.scores - sets.base, weight, sets.position(new, common))
    sets.phases = torch.where(optimal, OPTIMAL, torch.where(enters, SETTLING, sets.phases))


def _make_space(sets: DenseSets, where: Tensor, score: Tensor, rounding: Tensor, shares: Tensor) -> Tensor:
    """Let affinely dependent structures take weight from their sets until a structure has none left; remove it.

    Return the weight that each new structure took, ``(batch,)``; 0 if its gain is at most ``rounding``.

    Args:
        sets: The active sets.
        where: ``(batch,)``, a mask of the items whose new structure is dependent.
        score: ``(batch,)``, the scores of the new structures, relative to ``base``.
        rounding: ``(batch,)``, the largest gain that can be a rounding error.
        shares: ``(batch, k)``, as in `Position`.
    """
    slope = score - (shares * sets.scores).sum(-1)
    gives = sets.used & (shares > 1e-12)
    steps = torch.where(gives, sets.weights / torch.where(gives, shares, 1.0), torch.inf)
    step, leaving = steps.min(-1)
    where = where & (slope > rounding) & gives.any(-1)
    step = torch.where(where, step, 0.0)
    sets.weights = (sets.weights - step.unsqueeze(-1) * shares).clamp(min=0.0)
    sets.remove(where, leaving)
    return step


def _settle(sets: DenseSets, settings: Settings) -> None:
    """Move to the best points of the affine hulls; if a weight falls to 0 first, stop and remove its structure."""
    moving = sets.phases == SETTLING
    ones = sets.solved(sets.used.double())
    gains = sets.scores - sets.totals(sets.point) - sets.mean_gain().unsqueeze(-1)
    best = sets.weights + sets.solved(torch.where(sets.used, gains, 0.0))
    best = best + ones * ((1.0 - best.sum(-1)) / torch.where(moving, ones.sum(-1), 1.0)).unsqueeze(-1)
    leaves = sets.used & (best <= 0.0) & (moving & (sets.sizes() > 1)).unsqueeze(-1)
    along = torch.where(sets.weights > 0.0, sets.weights / (sets.weights - best), 0.0)
    step, leaving = torch.where(leaves, along, torch.inf).min(-1)
    step = step.clamp(max=1.0).unsqueeze(-1)
    moved = (sets.weights + step * (best - sets.weights)).clamp(min=0.0)
    sets.weights = torch.where(moving.unsqueeze(-1), moved, sets.weights)
    blocked = leaves.any(-1)
    sets.remove(blocked, leaving)
    sets.point = torch.where(moving.unsqueeze(-1), sets.mixed(sets.weights), sets.point)
    sets.query = torch.where(moving.unsqueeze(-1), sets.main - sets.point, sets.query)
    ends = torch.where(sets.calls >= settings.max_calls, STOPPED, OPTIMISING)
    sets.phases = torch.where(moving & ~blocked, ends, sets.phases)
