"""The numbers of cells that kernels write and read: inside sums, outside sums, and growth."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Numbers(NamedTuple):
    """Mantissas and exponents of cells, in one memory of float64 with a row for each item.

    Cell c of an item is entry c of its rows of mantissas and of exponents; rows of mantissas may be longer.
    """

    memory: Tensor
    mantissas: Tensor
    exponents: Tensor

    @property
    def pair(self) -> tuple[Tensor, Tensor]:
        """Mantissas and exponents, as kernels take them."""
        return self.mantissas, self.exponents


class Around(NamedTuple):
    """The outside sums of cells, and the uses of weights.

    Attributes:
        weighted: The outside sum of each cell, times the weight of the row that makes it.
        bare: The outside sum of each cell.
        parts: ``(batch, weights)``, the uses of weights, times the factors of items.
    """

    weighted: Numbers
    bare: Numbers
    parts: Tensor


class Growth(NamedTuple):
    """The growth of cells, the derivatives of their logs; see `strukt.kernels.engine.gpu.growth`.

    Attributes:
        direction: ``(batch, weights)``, the growth of weights.
        cells: ``(batch, cells)``, the growth of cells, in float64.
        rest: ``(batch, cells)``, the surprise of the dominant term of the row of each cell, if it has one.
        bases: The sum of the row of each cell under the other scores, without the weight of the row.
        total: ``(batch,)``, the growth of the total, in float64: an entropy if choices add their surprise.
        weights: The mantissas and exponents of the weights under the other scores.
        chart: The cells under the other scores; those of the batch itself if there are no others.
        surprise: Whether choices add their surprise; if not, nothing reads ``rest`` and ``bases``.
    """

    direction: Tensor
    cells: Tensor
    rest: Tensor
    bases: Numbers
    total: Tensor
    weights: tuple[Tensor, Tensor]
    chart: Numbers
    surprise: bool
