"""The completion of faces of `strukt.kernels.sparsemap.completion` for all items of a batch at once."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.sparsemap.active_set import TIED
from strukt.kernels.sparsemap.completion import CERTAIN, SLIGHT
from strukt.kernels.sparsemap.dense.state import DenseSets, Structures
from strukt.kernels.sparsemap.result import Settings
from strukt.kernels.sparsemap.state import ABOVE, BELOW, CONVERGED, OPTIMAL


def is_open(sets: DenseSets) -> Tensor:
    """Return a mask of the items that need another round, ``(batch,)``."""
    return (sets.phases == ABOVE) | (sets.phases == BELOW)


def begin(sets: DenseSets, settings: Settings) -> None:
    """Start the completion of the items that have reached their optimum."""
    optimal = sets.phases == OPTIMAL
    sets.phases = torch.where(optimal, ABOVE, sets.phases)
    _set_queries(sets, optimal, settings)


def advance(sets: DenseSets, new: Structures, settings: Settings) -> None:
    """Add the oracle's structures that are new ones of their faces, and set the next queries."""
    asked = is_open(sets)
    sets.calls = sets.calls + (asked & new.feasible)
    position = sets.position(new, sets.totals(new.parts))
    score = new.scores - sets.base
    enters = asked & _is_of_face(sets, new, score) & position.is_outside
    sets.append(enters, new, score, torch.zeros_like(score), position)
    goes_on = enters | (asked & new.feasible & (sets.phases == ABOVE))
    sets.phases = torch.where(asked, torch.where(enters, ABOVE, BELOW), sets.phases)
    sets.phases = torch.where(asked & ~goes_on, CONVERGED, sets.phases)
    _set_queries(sets, goes_on, settings)


def _is_of_face(sets: DenseSets, new: Structures, score: Tensor) -> Tensor:
    """Return a mask of structures, ``(batch,)``, with the gain of the others and with all parts of marginal 1."""
    tied = TIED * (1.0 + sets.base.abs() + new.counts)
    gains_as_much = (sets.gain(new, score) - sets.mean_gain()).abs() <= tied
    certain = sets.point >= 1.0 - CERTAIN
    return new.feasible & gains_as_much & ~(certain & (new.parts == 0.0)).any(-1)


def _set_queries(sets: DenseSets, where: Tensor, settings: Settings) -> None:
    """Set the queries of the items ``where (batch,)`` to gradients plus slight steps orthogonal to the hulls.

    If nothing can move, or no calls are left, set the phase to CONVERGED instead.
    """
    positive = sets.point > CERTAIN
    free = positive & (sets.point < 1.0 - CERTAIN)
    direction = _direction(sets, free)
    largest = torch.where(positive, direction.abs(), 0.0).amax(-1)
    full = (sets.sizes() > sets.main.shape[1]) | (sets.calls >= settings.max_calls)
    closed = where & (full | (largest < 1e-7) | ~free.any(-1))
    sets.phases = torch.where(closed, CONVERGED, sets.phases)
    step = SLIGHT / torch.where(closed, 1.0, largest)
    step = torch.where(sets.phases == ABOVE, step, -step).unsqueeze(-1)
    lifted = torch.where(positive, sets.main - sets.point + step * direction, -torch.inf)
    sets.query = torch.where((where & ~closed).unsqueeze(-1), lifted, sets.query)


def _direction(sets: DenseSets, free: Tensor) -> Tensor:
    """Return pseudo-random numbers for the free parts, minus their projection onto the hull: ``(batch, d)``."""
    number = torch.arange(1, free.shape[1] + 1, device=free.device).double()
    noise = 43758.5453 * torch.sin(12.9898 * number + 78.233 * sets.sizes().double().unsqueeze(-1))
    noise = torch.where(free, noise.remainder(1.0) - 0.5, 0.0)
    shares, ones = sets.solved(sets.totals(noise)), sets.solved(sets.used.double())
    shift = shares.sum(-1) / torch.where(sets.used.any(-1), ones.sum(-1), 1.0)
    return noise - sets.mixed(shares - shift.unsqueeze(-1) * ones)
