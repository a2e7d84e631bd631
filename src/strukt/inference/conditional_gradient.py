"""SparseMAP by conditional gradients (Frank-Wolfe): simpler and slower than the active set, for comparison.

Each step calls the mode oracle for the structure with the largest gain, the best one, and moves weight between the
structures by one of three methods (Lacoste-Julien and Jaggi 2015):

- ``conditional_gradient``: from all structures to the best (Frank and Wolfe 1956). The error after t steps is
  O(1 / t).
- ``away_step``: the same, or from the worst structure to all others if that gains more (Wolfe 1970). Convergence
  is linear.
- ``pairwise``: from the worst structure to the best. Convergence is linear.

The objective is quadratic, so the best step length has a closed form. Under ties, the resulting structures need
not span the optimal face, and derivatives may then be wrong; only the active set completes the face.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from strukt.inference.sparsemap import Best
from strukt.kernels.arrays import Array
from strukt.kernels.sparsemap.active_set import ROUNDING
from strukt.kernels.sparsemap.result import Result, Settings, Start, make_result
from strukt.kernels.sparsemap.state import CONVERGED, INFEASIBLE, OPTIMISING, STOPPED
from strukt.kernels.undifferentiated import numpy_of

METHODS = ("conditional_gradient", "away_step", "pairwise")
"""The names of the methods to move weight; the docstring of the module describes them."""


def conditional_gradient(
    main: Tensor, p: int, start: Start, settings: Settings,
    best: Best, to_parts: Callable[[Tensor], Tensor], extra: Callable[[Tensor], Tensor], method: str,
) -> tuple[Result, list[Tensor]]:  # fmt: skip
    """Solve SparseMAP by one of `METHODS`; other arguments and the result are those of `sparsemap.active_set`."""
    batch = len(main)
    scores = main.reshape(batch, -1).cpu().numpy()
    items = [_Mixture(scores[b], method, settings) for b in range(batch)]
    for b, item in enumerate(items):
        item.resume(start, b)
    answers: list[Tensor] = []
    while any(item.phase == OPTIMISING for item in items):
        query = np.stack([item.scores - item.point for item in items])
        events, values = best(torch.from_numpy(query).reshape(main.shape).to(main))
        used = to_parts(events).reshape(batch, -1).cpu().numpy() > 0
        more, feasible = numpy_of(extra(events)), (values > -torch.inf).cpu().numpy()
        for b, item in enumerate(items):
            if item.phase == OPTIMISING:
                item.advance(np.flatnonzero(used[b]), more[b], bool(feasible[b]), len(answers))
        answers.append(events)
    result = make_result(batch, max(len(item.structures) for item in items), p)
    for b, item in enumerate(items):
        item.write(result, b)
    return result, answers


class _Structure:
    """A structure of the convex combination: indices of its parts, total score, weight, and origin.

    The origin is the index of the call of the oracle that returned it, or -1 - j for structure j of the start.
    """

    def __init__(self, parts: Array, score: float, weight: float, origin: int) -> None:
        self.parts, self.score, self.weight, self.origin = parts, score, weight, origin


class _Mixture:
    """The convex combination of structures of one item; the keys of ``structures`` are their parts, as bytes.

    ``point`` is the weighted mean of the structures' 0/1 vectors.
    """

    def __init__(self, scores: Array, method: str, settings: Settings) -> None:
        self.scores, self.method, self.settings = scores, method, settings
        self.point = np.zeros(len(scores))
        self.structures: dict[bytes, _Structure] = {}
        self.phase, self.calls, self.gap = OPTIMISING, 0, np.inf

    def resume(self, start: Start, b: int) -> None:
        """Start from the structures of an earlier solution, item b of ``start``."""
        for j, weight in enumerate(start.weights[b]):
            parts = start.parts[b, j, : start.counts[b, j]].astype(np.int64)
            score = float(self.scores[parts].sum() + start.extra[b, j])
            if weight > 0.0 and score > -np.inf:
                self.structures[parts.tobytes()] = _Structure(parts, score, weight, -1 - j)
        self._mix()

    def advance(self, parts: Array, extra: float, feasible: bool, call: int) -> None:
        """Add the structure that the oracle returned, which has the largest gain, and take a step.

        Args:
            parts: The indices of the structure's parts.
            extra: The structure's score in addition to the scores of its parts.
            feasible: False if every structure is forbidden.
            call: The index of this call of the oracle, from 0.
        """
        self.calls += 1
        if not feasible:
            self.phase = INFEASIBLE
            return
        score = float(self.scores[parts].sum() + extra)
        first = not self.structures
        new = self.structures.setdefault(parts.tobytes(), _Structure(parts, score, 0.0, call))
        if first:
            new.weight = 1.0
        else:
            mean = sum(each.weight * each.score for each in self.structures.values())
            self.gap = max((score - mean) - (self.point[parts].sum() - self.point @ self.point), 0.0)
            if self.gap <= max(0.5 * self.settings.tol**2, ROUNDING * (1.0 + abs(score) + abs(mean))):
                self.phase = CONVERGED
            else:
                self._step(new, mean - float(self.point @ self.point))
        self._mix()
        if self.phase == OPTIMISING and self.calls >= self.settings.max_calls:
            self.phase = STOPPED

    def _step(self, new: _Structure, level: float) -> None:
        """Move weight to ``new`` by the method; ``level`` is the mean gain of the current structures."""
        worst = min((each for each in self.structures.values() if each.weight > 0.0), key=self._gain)
        loss = level - self._gain(worst)
        if self.method == "pairwise":
            direction = self._vector(new) - self._vector(worst)
            step = min((self.gap + loss) / float(direction @ direction), worst.weight)
            new.weight += step
            worst.weight -= step
        elif self.method == "away_step" and loss > self.gap and worst.weight < 1.0:
            direction = self.point - self._vector(worst)
            step = min(loss / float(direction @ direction), worst.weight / (1.0 - worst.weight))
            self._shrink(1.0 + step)
            worst.weight -= step
        else:
            direction = self._vector(new) - self.point
            step = min(self.gap / float(direction @ direction), 1.0)
            self._shrink(1.0 - step)
            new.weight += step

    def _shrink(self, factor: float) -> None:
        for each in self.structures.values():
            each.weight *= factor

    def _gain(self, structure: _Structure) -> float:
        """Return the derivative of the objective with respect to the structure's weight."""
        return float(structure.score - self.point[structure.parts].sum())

    def _vector(self, structure: _Structure) -> Array:
        """Return the 0/1 vector of a structure's parts."""
        vector = np.zeros(len(self.scores))
        vector[structure.parts] = 1.0
        return vector

    def _mix(self) -> None:
        """Drop structures of weight 0, normalise the weights, and recompute the point."""
        self.structures = {key: each for key, each in self.structures.items() if each.weight > 1e-16}
        total = sum(each.weight for each in self.structures.values())
        self.point[:] = 0.0
        for each in self.structures.values():
            each.weight /= total
            self.point[each.parts] += each.weight

    def write(self, result: Result, b: int) -> None:
        """Write the structures into row ``b`` of the result."""
        for j, each in enumerate(self.structures.values()):
            result.parts[b, j, : len(each.parts)] = each.parts
            result.counts[b, j], result.origins[b, j] = len(each.parts), each.origin
            result.weights[b, j] = each.weight
        result.sizes[b], result.calls[b] = len(self.structures), self.calls
        result.phases[b], result.gaps[b] = self.phase, self.gap
