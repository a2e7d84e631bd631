"""The numbers of the cells of a batch that kernels write and read: inside, outside, and their growth."""

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
    """The outside sums of cells, with the weights of their rows and without.

    ``parts (batch, weights)`` are the uses of weights.
    """

    weighed: Numbers
    bare: Numbers
    parts: Tensor


class Growth(NamedTuple):
    """The growth of cells; see `growth`.

    Attributes:
        direction: ``(batch, weights)``, the growth of weights.
        cells: ``(batch, cells)``, the growth of cells, in float64.
        rest: ``(batch, cells)``, the surprise of a dominant term of each.
        bases: The sums of rows under the other scores.
        total: ``(batch,)``, the growth of the log-partition, in float64.
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
