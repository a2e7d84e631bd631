"""SparseMAP: the point of a marginal polytope nearest to the scores, by an active set over the mode oracle.

    argmax over mu in M of  <scores, mu> - 1/2 ||mu||^2        (Niculae et al. 2018, equation 5)

The solution is a convex combination of few structures. Each step asks the oracle for the structure that gains
most, and solves the quadratic program over the structures found so far exactly (the min-norm-point algorithm,
Wolfe 1976; Nocedal and Wright 2006, section 16.5).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]

NEGLIGIBLE = 1e-12
"""Structures of no larger weight are dropped."""


@dataclass(frozen=True)
class SparseMAP:
    """Sparse marginals and the structures that carry them.

    Attributes:
        marginals: The shape of the main scores; differentiable.
        weights: ``batch + (k,)``, probabilities of the structures, 0 where an item needs fewer; differentiable.
        events: ``batch + (k,) + event_shape``; -1 where the weight is 0.
    """

    marginals: Tensor
    weights: Tensor
    events: Tensor


def sparsemap(
    main: Tensor,
    best: Callable[[Tensor], Tensor],
    score: Callable[[Tensor], Tensor],
    to_parts: Callable[[Tensor], Tensor],
    max_iterations: int,
    tolerance: float,
) -> SparseMAP:
    """Solve for a batch of items.

    Args:
        main: Main scores ``(batch, *parts)``.
        best: The mode oracle: main scores ``(batch, *parts)`` to events ``(batch, *event)``.
        score: Scores of events ``(k, batch, *event)``: ``(k, batch)``, differentiable.
        to_parts: Events ``(k, batch, *event)`` to parts ``(k, batch, *parts)``.
        max_iterations: Bound on the steps, each of one oracle call.
        tolerance: On the duality gap, relative to 1 + the norm of the scores of the structures.

    Returns:
        The solution. Its derivative is that of the linear system on the structures found (equation 9), and
        so can be taken any number of times.
    """
    with torch.no_grad():
        events = _active_structures(main, best, score, to_parts, max_iterations, tolerance)
    used = (events >= 0).flatten(2).any(-1) | (torch.arange(len(events), device=main.device) == 0)[:, None]
    parts = to_parts(events) * used.reshape(*used.shape, *(1,) * (main.dim() - 1))
    scores = torch.where(used, score(events), torch.zeros((), dtype=main.dtype, device=main.device))
    weights = _weights(parts.flatten(2).transpose(0, 1), scores.T, used.T).clamp(min=0.0)
    marginals = torch.einsum("bk,kb...->b...", weights, parts)
    return SparseMAP(marginals, weights, events.movedim(0, 1))


def _weights(parts: Tensor, scores: Tensor, used: Tensor) -> Tensor:
    """Weights ``(batch, k)`` of the structures: the stationary point of the program on their affine hull."""
    parts = parts.double()
    k = parts.shape[1]
    gram = parts @ parts.transpose(1, 2) + torch.diag_embed((~used).double())
    border = used.double().unsqueeze(-1)
    corner = torch.zeros(len(parts), 1, 1, dtype=gram.dtype, device=gram.device)
    system = torch.cat([torch.cat([gram, border], 2), torch.cat([border.transpose(1, 2), corner], 2)], 1)
    right = torch.cat([scores.double(), torch.ones_like(corner[:, 0])], 1)
    solution: Tensor = torch.linalg.solve(system, right)
    return solution[:, :k].to(scores.dtype)


def _active_structures(
    main: Tensor, best: Callable[[Tensor], Tensor], score: Callable[[Tensor], Tensor],
    to_parts: Callable[[Tensor], Tensor], max_iterations: int, tolerance: float,
) -> Tensor:  # fmt: skip
    """The structures with a positive weight, ``(k, batch, *event)``, padded with -1."""
    items = [_ActiveSet(tolerance) for _ in range(len(main))]
    point = torch.zeros_like(main)
    for _ in range(max_iterations):
        events = best(main - point)
        parts = to_parts(events.unsqueeze(0))[0].flatten(1).double().cpu().numpy()
        scores = score(events.unsqueeze(0))[0].double().cpu().numpy()
        for item, event, part, value in zip(items, events, parts, scores, strict=True):
            item.add(event, part, float(value))
        if all(item.done for item in items):
            break
        points = np.stack([item.point for item in items]).reshape(main.shape)
        point = torch.from_numpy(points).to(main.device, main.dtype)
    else:
        gap = max((item.gap for item in items), default=0.0)
        warnings.warn(
            f"sparsemap stopped after {max_iterations} steps with a duality gap of {gap:.2g}", stacklevel=4
        )
    size = max((len(item.events) for item in items), default=1)
    if not items:
        return best(main).unsqueeze(0)
    empty = torch.full_like(items[0].events[0], -1)
    return torch.stack([torch.stack(item.events + [empty] * (size - len(item.events))) for item in items], 1)


class _ActiveSet:
    """The structures of one item with their optimal weights."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.done = False
        self.gap = np.inf
        self.events: list[Tensor] = []
        self._parts: list[Array] = []
        self._scores: list[float] = []
        self._weights = np.zeros(0)

    @property
    def point(self) -> Array:
        """The convex combination."""
        total: Array = self._weights @ np.stack(self._parts)
        return total

    def add(self, event: Tensor, part: Array, score: float) -> None:
        """Take in the structure of largest gain, unless it gains nothing; then the item is done."""
        if self.done:
            return
        if self.events:
            point = self.point
            current = self._weights @ np.array(self._scores) - point @ point
            self.gap = (score - point @ part) - current
            if self.gap <= self.tolerance * (1.0 + abs(score)):
                self.done = True
                return
        self.events.append(event)
        self._parts.append(part)
        self._scores.append(score)
        self._weights = np.append(self._weights, 0.0 if len(self.events) > 1 else 1.0)
        self._solve()

    def _solve(self) -> None:
        """Go to the best point of the affine hull; where a weight would vanish on the way, drop it and go on."""
        while True:
            direction = self._free_direction()
            if direction is None:
                target = self._affine_weights()
                if (target > NEGLIGIBLE).all():
                    self._weights = target
                    return
                direction = target - self._weights
            self._step_to_the_border(direction)

    def _free_direction(self) -> Array | None:
        """A change of the weights that keeps the point and does not lower the scores, if there is one."""
        rows = np.column_stack([np.stack(self._parts), np.ones(len(self._parts))])
        values, vectors = np.linalg.eigh(rows @ rows.T)
        free = vectors[:, values < 1e-10 * max(1.0, values[-1])]
        if not free.shape[1]:
            return None
        gain = free.T @ np.array(self._scores)
        direction: Array = (
            free @ gain if np.abs(gain).max() > 1e-12 * max(map(abs, self._scores)) else free[:, 0]
        )
        return direction

    def _step_to_the_border(self, direction: Array) -> None:
        """Follow a direction until the first weight vanishes, and drop that structure."""
        falling = direction < 0.0
        steps = np.full(len(direction), np.inf)
        steps[falling] = self._weights[falling] / -direction[falling]
        leaving = int(steps.argmin()) if falling.any() else int(self._weights.argmin())
        if falling.any():
            self._weights = (self._weights + steps[leaving] * direction).clip(0.0)
        del self.events[leaving], self._parts[leaving], self._scores[leaving]
        self._weights = np.delete(self._weights, leaving)
        self._weights /= self._weights.sum()

    def _affine_weights(self) -> Array:
        """The stationary point of the program when weights need only sum to one."""
        parts = np.stack(self._parts)
        k = len(parts)
        system = np.ones((k + 1, k + 1))
        system[:k, :k] = parts @ parts.T
        system[k, k] = 0.0
        found: Array = np.linalg.solve(system, np.append(self._scores, 1.0))
        return found[:k]
