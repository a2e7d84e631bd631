"""What a factor graph looks like to the solvers that make its factors agree.

Each factor keeps a copy of its variables; a solver makes all copies of a variable equal (Martins et al. 2015,
"AD3"; Niculae and Martins 2020, "LP-SparseMAP").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

BAND, OR_OUT, PAIR, ORACLE = range(4)
"""Kinds of factors: low <= costs . p <= high; the last copy is the OR of the others; two copies that earn a score
if both are 1; anything else, through its oracle."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Layout:
    """The shape of a factor graph, the same for all items of a batch: V variables, F factors, m copies.

    Attributes:
        variables: V.
        copies: ``(m,)``, the variable of each copy; those of a factor lie together, one factor after the other.
        negated: ``(m,)``, whether a factor sees one minus the variable.
        starts: ``(F + 1,)``; factor f has the copies from ``starts[f]`` to before ``starts[f + 1]``.
        kinds: ``(F,)``, `BAND`, `OR_OUT`, `PAIR` or `ORACLE`.
        costs: ``(m,)``, of the copies of a `BAND`, after negation; 1 elsewhere.
        low: ``(F,)``, of a `BAND`; -inf if it has no lower end.
        high: ``(F,)``, of a `BAND`; inf if it has no upper end.
        own: ``(F,)``, the column of the score of a `PAIR`; -1 elsewhere.
    """

    variables: int
    copies: Integers
    negated: Booleans
    starts: Integers
    kinds: Integers
    costs: Floats
    low: Floats
    high: Floats
    own: Integers


@dataclass(frozen=True)
class Face:
    """A point of a factor's polytope and the assignments that carry it.

    Attributes:
        point: ``(batch, size)``.
        weights: ``(batch, k)``, of the assignments; 0 beyond the last.
        vertices: ``(batch, k, size)``, the assignments, 0/1.
        scores: ``(batch, k)``, the factor's own scores of them.
    """

    point: Tensor
    weights: Tensor
    vertices: Tensor
    scores: Tensor


class OracleFactor(Protocol):
    """A factor that is known through its best assignments."""

    def project(self, scores: Tensor, scale: Tensor, start: Any) -> Face:
        """SparseMAP of the factor.

        Args:
            scores: Main scores ``(batch, size)``.
            scale: ``(batch,)``; the factor's own scores are divided by it.
            start: The last result, to start from, or None.
        """
        ...

    def own(self, vertices: Tensor) -> Tensor:
        """Own scores ``(k, batch)`` of assignments ``(k, batch, size)``; differentiable; 0 if there are none."""
        ...

    def best(self, scores: Tensor) -> Tensor:
        """The best assignment, 0/1 ``(batch, size)``, own scores included."""
        ...
