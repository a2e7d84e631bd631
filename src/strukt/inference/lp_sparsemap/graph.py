"""Factor graphs as arrays for LP-SparseMAP: variables, factors and their kinds.

All items of a batch share a `Layout`. Factors whose SparseMAP has a closed form are described by numbers alone;
any other factor is an `OracleFactor`, which solves SparseMAP itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.lp_sparsemap.state import BAND, OR_OUT, ORACLE, PAIR

SLACK = 1e-12
"""The rounding error, relative to the sum of the costs, by which a total may exceed its bounds."""


@dataclass(frozen=True)
class Layout:
    """The factors of a graph of binary variables, shared by all items of a batch.

    Each factor has copies of its variables. The copies of one factor are contiguous, in the order of the factors.

    Attributes:
        variables: The number V of variables.
        copies: int64 ``(m,)``, the variable of each copy.
        negated: bool ``(m,)``, True if the copy is 1 minus the variable.
        starts: int64 ``(F + 1,)``; the copies of factor f are ``starts[f]:starts[f + 1]``.
        kinds: int64 ``(F,)``. BAND: ``low <= sum costs * p <= high`` over ``0 <= p <= 1``. OR_OUT: the last copy
            is the OR of the others. PAIR: two copies, with a score that counts if both are 1. ORACLE: all others.
        costs: float64 ``(m,)``, the cost of each copy of a BAND factor; unused for other kinds.
        low: float64 ``(F,)``, the lower bound of each BAND factor; -inf for none.
        high: float64 ``(F,)``, the upper bound of each BAND factor; inf for none.
        pair: int64 ``(F,)``, the column of the score of each PAIR factor in ``pair_scores``; -1 for other kinds.

    Raises:
        ValueError: If the arrays do not fit together, a kind, cost or bound is invalid, a factor repeats a
            variable, or no point lies in a band.

    Examples:
        >>> one = Layout(2, np.array([0, 1]), np.zeros(2, bool), np.array([0, 2]), np.array([BAND]),
        ...              np.ones(2), np.ones(1), np.ones(1), np.array([-1]))  # exactly one of two
        >>> one.factors
        1
    """

    variables: int
    copies: Array
    negated: Array
    starts: Array
    kinds: Array
    costs: Array
    low: Array
    high: Array
    pair: Array

    @property
    def factors(self) -> int:
        """The number F of factors."""
        return len(self.kinds)

    def equals(self, other: Layout) -> bool:
        """Return True if the other layout has the same variables and factors."""
        return self is other or all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    def __post_init__(self) -> None:
        """Check that the arrays agree with each other."""
        m, count = len(self.copies), len(self.kinds)
        for name, size in (
            ("negated", m), ("costs", m), ("starts", count + 1), ("low", count), ("high", count), ("pair", count),
        ):  # fmt: skip
            if len(getattr(self, name)) != size:
                raise ValueError(f"{name} has {len(getattr(self, name))} entries; expected {size}")
        if self.starts[0] != 0 or self.starts[-1] != m or (np.diff(self.starts) < 0).any():
            raise ValueError(f"starts is {self.starts}; expected numbers that rise from 0 to {m}")
        if m and not (self.copies.min() >= 0 and self.copies.max() < self.variables):
            raise ValueError(
                f"copies has values from {self.copies.min()} to {self.copies.max()}; "
                f"expected 0 to {self.variables - 1}"
            )
        for f in range(count):
            self._check_factor(f)

    def _check_factor(self, f: int) -> None:
        """Raise ValueError if the kind of factor f is unknown, or its variables or costs are invalid."""
        part = slice(self.starts[f], self.starts[f + 1])
        copies, kind = self.copies[part], self.kinds[f]
        if len(np.unique(copies)) < len(copies):
            raise ValueError(f"factor {f} has a variable more than once: {copies}")
        if kind not in (BAND, OR_OUT, PAIR, ORACLE):
            raise ValueError(f"the kind of factor {f} is {kind}; expected BAND, OR_OUT, PAIR or ORACLE")
        if kind == PAIR and (len(copies) != 2 or self.pair[f] < 0):
            raise ValueError(
                f"factor {f} is a pair of {len(copies)} variables with score {self.pair[f]}; "
                "expected 2 variables and a column of pair_scores"
            )
        if kind == OR_OUT and not len(copies):
            raise ValueError(f"factor {f} has no variables; expected an output at least")
        if kind == BAND:
            self._check_band(f, self.costs[part])

    def _check_band(self, f: int, costs: Array) -> None:
        """Raise ValueError if a cost or a bound is invalid, or no point lies within the bounds."""
        low, high = float(self.low[f]), float(self.high[f])
        if not np.isfinite(costs).all():
            raise ValueError(f"the costs of factor {f} are {costs}; expected finite numbers")
        if not low <= high:
            raise ValueError(f"the bounds of factor {f} are {low:g} and {high:g}; expected low <= high")
        least, most = costs[costs < 0].sum(), costs[costs > 0].sum()
        slack = SLACK * np.abs(costs).sum()
        if least > high + slack or most < low - slack:
            raise ValueError(
                f"factor {f} cannot be satisfied: costs sum to {least:g} at least and {most:g} at most; "
                f"expected a sum from {low:g} to {high:g} to be possible"
            )


@dataclass(frozen=True)
class Face:
    """A point of a factor's polytope, with the assignments (vertices) whose convex combination it is; batch first.

    Attributes:
        point: ``(batch, size)``, the mean of the assignments, weighted by ``weights``.
        weights: ``(batch, k)``, the weight of each assignment in the combination; 0 for an assignment that only
            ties with the others.
        vertices: ``(batch, k, size)``, the assignments, 0 or 1; padded with the first assignment of the item, with
            weight 0.
        scores: ``(batch, k)``, the local scores of the assignments.
    """

    point: Tensor
    weights: Tensor
    vertices: Tensor
    scores: Tensor


class OracleFactor(Protocol):
    """A factor that solves SparseMAP over its own assignments, for a whole batch.

    Main scores are those of the factor's variables. Local scores are those of the factor itself, such as the
    transitions of a chain.
    """

    def project(self, scores: Tensor, scale: Tensor, start: Face | None, calls: int) -> Face:
        """Solve SparseMAP for main scores ``(batch, size)`` and local scores divided by ``scale (batch,)``.

        Args:
            scores: The main scores, one for each variable of the factor.
            scale: The divisor of the local scores; the local scores in the result are not divided.
            start: The face of the previous call as a warm start, or None.
            calls: Maximum number of calls of the mode oracle; after them, the best face so far is returned.

        Returns:
            The solution: the point, and the assignments whose mixture it is, with their local scores.

        Raises:
            InfeasibleError: If the factor permits no assignment of some item.
        """

    def local_scores(self, vertices: Tensor) -> Tensor:
        """Return the local scores ``(k, batch)`` of assignments ``(k, batch, size)``; differentiable."""

    def permits(self, vertices: Tensor) -> Tensor:
        """Return a mask ``(k, batch)`` of the assignments ``(k, batch, size)`` that the factor permits."""

    def best(self, scores: Tensor) -> Tensor:
        """Return the best assignment ``(batch, size)`` for main scores ``(batch, size)`` plus the local scores."""


def require_oracles(layout: Layout, oracles: Sequence[OracleFactor]) -> None:
    """Raise ValueError unless there is one oracle for each factor of kind ORACLE."""
    expected = int((layout.kinds == ORACLE).sum())
    if len(oracles) != expected:
        raise ValueError(
            f"there are {len(oracles)} oracles; expected {expected}, one for each factor of kind ORACLE"
        )


__all__ = ["BAND", "ORACLE", "OR_OUT", "PAIR", "Face", "Layout", "OracleFactor", "require_oracles"]
