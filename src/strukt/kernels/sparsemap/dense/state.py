"""The active sets of a batch as dense tensors, and updates of an inverse as structures are added and removed.

The linear algebra is that of `strukt.kernels.sparsemap.factor`, with the inverse of G + 1 in place of its Cholesky
factor: adding or removing a structure is an update of rank one, without sequential steps.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from strukt.kernels.sparsemap.factor import INDEPENDENT
from strukt.kernels.sparsemap.state import OPTIMISING


class Structures(NamedTuple):
    """One structure for each item of a batch.

    Attributes:
        parts: ``(batch, d)``, 1.0 for each part that the structure uses.
        counts: ``(batch,)``, the number of these parts.
        scores: ``(batch,)``, the score of the structure; 0 if it is forbidden.
        feasible: ``(batch,)``, Boolean, False if the structure is forbidden.
        origin: The round that returned the structures; -1 - j for structure j of the start.
    """

    parts: Tensor
    counts: Tensor
    scores: Tensor
    feasible: Tensor
    origin: int


class Position(NamedTuple):
    """The position of new structures relative to the active sets: in the set, in its affine hull, or outside.

    Attributes:
        shares: ``(batch, k)``, x with (G + 1) x = the parts in common, plus 1: for a structure in the affine hull,
            the shares of the others in it.
        pivots: ``(batch,)``, as `strukt.kernels.sparsemap.factor.new_row` returns; 0 for a structure in the hull.
        is_member: ``(batch,)``, Boolean, True for a structure that is in the set already.
    """

    shares: Tensor
    pivots: Tensor
    is_member: Tensor

    @property
    def is_outside(self) -> Tensor:
        """True for structures outside of the affine hull of the set, ``(batch,)``."""
        return (self.pivots > 0.0) & ~self.is_member


class DenseSets:
    """Active sets of a batch of scores ``(batch, d)`` in float64, with capacity for ``k`` structures each.

    The gain of a structure is its score minus the sum of ``point`` over its parts.

    Attributes:
        main: ``(batch, d)``, the scores of the parts.
        finite: ``(batch, d)``, the scores with 0 for forbidden parts and padding.
        point: ``(batch, d)``, the convex combinations of the structures.
        query: ``(batch, d)``, the scores for the next call of the oracle.
        parts: ``(batch, k, d)``, 1.0 for each part of each structure.
        inverse: ``(batch, k, k)``, the inverse of G + 1, where G counts the parts in common; 0 in unused rows.
        used: ``(batch, k)``, Boolean, the rows that hold a structure.
        counts, scores, weights, origins: ``(batch, k)``, as in `strukt.kernels.sparsemap.state.ActiveSet`.
        base, gap, calls, phases: ``(batch,)``, as in `ActiveSet` and its counters.
        rows: ``(batch,)``, the indices of the items.
    """

    def __init__(self, main: Tensor, k: int) -> None:
        batch, d = main.shape
        self.main = main
        self.finite = torch.where(main.isfinite(), main, 0.0)
        self.point = torch.zeros_like(main)
        self.query = main
        self.parts = main.new_zeros(batch, k, d)
        self.inverse = main.new_zeros(batch, k, k)
        self.used = main.new_zeros(batch, k, dtype=torch.bool)
        self.counts, self.scores, self.weights = (main.new_zeros(batch, k) for _ in range(3))
        self.origins = main.new_zeros(batch, k, dtype=torch.int64)
        self.base = main.new_zeros(batch)
        self.gap = main.new_full((batch,), torch.inf)
        self.calls = main.new_zeros(batch, dtype=torch.int64)
        self.phases = main.new_full((batch,), OPTIMISING, dtype=torch.int64)
        self.rows = torch.arange(batch, device=main.device)

    @property
    def capacity(self) -> int:
        """The number of structures that fit into a set."""
        return self.used.shape[1]

    def sizes(self) -> Tensor:
        """Return the number of structures of each set, ``(batch,)``."""
        return self.used.sum(-1)

    def enlarge(self, k: int) -> None:
        """Raise the capacity to k structures."""
        more = k - self.capacity
        self.parts, self.inverse = pad(self.parts, (0, 0, 0, more)), pad(self.inverse, (0, more, 0, more))
        self.used, self.counts, self.scores, self.weights, self.origins = (
            pad(each, (0, more)) for each in (self.used, self.counts, self.scores, self.weights, self.origins)
        )

    def structures(self, used: Tensor, extra: Tensor, feasible: Tensor, origin: int) -> Structures:
        """Return structures, given Boolean parts ``(batch, d)`` and scores besides those of parts ``(batch,)``.

        ``feasible`` and ``origin`` are those of `Structures`.
        """
        parts = used.double()
        scores = torch.where(feasible, extra + (self.finite * parts).sum(-1), 0.0)
        return Structures(parts, parts.sum(-1), scores, feasible, origin)

    # Products with vectors.

    def mixed(self, weights: Tensor) -> Tensor:
        """Return the sums of the structures, weighted by ``weights (batch, k)``: ``(batch, d)``."""
        return (weights.unsqueeze(1) @ self.parts).squeeze(1)

    def totals(self, values: Tensor) -> Tensor:
        """Return the sums of values ``(batch, d)`` over the parts of each structure: ``(batch, k)``."""
        return _times(self.parts, values)

    def solved(self, right: Tensor) -> Tensor:
        """Return the solutions x of (G + 1) x = right ``(batch, k)``; 0 in unused rows."""
        return _times(self.inverse, right)

    def mean_gain(self) -> Tensor:
        """Return the weighted mean of the gains of each set, with scores relative to ``base``: ``(batch,)``."""
        return (self.weights * self.scores).sum(-1) - self.point.square().sum(-1)

    def gain(self, new: Structures, score: Tensor) -> Tensor:
        """Return the gain of new structures, with their scores relative to ``base``: ``(batch,)``."""
        return score - (self.point * new.parts).sum(-1)

    # Adding and removing structures.

    def position(self, new: Structures, common: Tensor) -> Position:
        """Return the position of new structures that share ``common (batch, k)`` parts with those of the sets."""
        counts = new.counts.unsqueeze(-1)
        same = self.used & (common == counts) & (self.counts == counts)
        right = torch.where(self.used, common + 1.0, 0.0)
        shares, square = self.solved(right), new.counts + 1.0
        pivots = square - (right * shares).sum(-1)
        return Position(shares, torch.where(pivots > INDEPENDENT * square, pivots, 0.0), same.any(-1))

    def append(
        self, where: Tensor, new: Structures, score: Tensor, weight: Tensor, position: Position
    ) -> None:
        """Add structures to the sets of the items ``where (batch,)``.

        ``score (batch,)`` is relative to ``base``, ``weight`` is ``(batch,)``, and ``position`` that of
        `position`.
        """
        slot = (~self.used).int().argmax(-1)
        self.parts[self.rows, slot] = torch.where(where.unsqueeze(-1), new.parts, self.parts[self.rows, slot])
        at = self._at(where, slot)
        self.used = self.used | at
        self.counts = torch.where(at, new.counts.unsqueeze(-1), self.counts)
        self.scores = torch.where(at, score.unsqueeze(-1), self.scores)
        self.weights = torch.where(at, weight.unsqueeze(-1), self.weights)
        self.origins = torch.where(at, new.origin, self.origins)
        self._update(where, torch.where(at, -1.0, position.shares), position.pivots)

    def remove(self, where: Tensor, leaving: Tensor) -> None:
        """Remove the structures in the rows ``leaving (batch,)`` from the sets of the items ``where (batch,)``."""
        column = self.inverse[self.rows, leaving]
        at = self._at(where, leaving)
        self.used, self.weights = self.used & ~at, torch.where(at, 0.0, self.weights)
        self._update(where, column, -column[self.rows, leaving])

    def clear(self, where: Tensor) -> None:
        """Remove all structures from the sets of the items ``where (batch,)``."""
        self.used = self.used & ~where.unsqueeze(-1)
        self.weights = torch.where(self.used, self.weights, 0.0)
        self.inverse = torch.where(where[:, None, None], 0.0, self.inverse)

    def _at(self, where: Tensor, slot: Tensor) -> Tensor:
        """Return a mask ``(batch, k)`` of the row ``slot (batch,)`` of the items ``where (batch,)``."""
        k = torch.arange(self.capacity, device=slot.device)
        return where.unsqueeze(-1) & (k == slot.unsqueeze(-1))

    def _update(self, where: Tensor, vector: Tensor, divisor: Tensor) -> None:
        """Add the outer product of each vector with itself, divided by its divisor, to the inverses of some items.

        Vectors are ``(batch, k)``, divisors and the mask ``where`` ``(batch,)``. Unused rows and columns become 0.
        """
        scaled = vector / torch.where(where, divisor, torch.inf).unsqueeze(-1)
        changed = self.inverse + scaled.unsqueeze(-1) * vector.unsqueeze(-2)
        both = self.used.unsqueeze(-1) & self.used.unsqueeze(-2)
        self.inverse = torch.where(both, changed, 0.0)


def _times(matrices: Tensor, vectors: Tensor) -> Tensor:
    """Return the products of matrices ``(batch, m, n)`` with vectors ``(batch, n)``."""
    return (matrices @ vectors.unsqueeze(-1)).squeeze(-1)
