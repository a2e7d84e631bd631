"""Table programs as indices of factors, for PyTorch: a stage is a gather and a sum over segments of equal length.

A term is a product of factors, which are numbers in the memory of an item. The memory begins with the neutral
elements: the value of a missing term, and that of a missing factor. The weights follow, then the terms of all
sums. Running sums replace the terms of a sum, so that its total takes the place of its last term.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT, Program
from strukt.kernels.engine.sizes import by_stage, needs_of, places_of, rows_of_ends

ZERO, ONE, CONSTANTS = 0, 1, 2
"""The places of the neutral elements of sum and product, and the number of both."""


class Stage(NamedTuple):
    """Sums that do not depend on each other, padded to the same number of terms.

    Attributes:
        first: The index of its first term among the terms of all stages.
        sums: The number of sums.
        terms: The number of terms of each sum, padding included.
    """

    first: int
    sums: int
    terms: int

    @property
    def last(self) -> int:
        """One more than the index of the last term."""
        return self.first + self.sums * self.terms


class Plan(NamedTuple):
    """A program as indices on a device.

    Attributes:
        places: ``(weights,)``, the place of each weight's score in the row of an item.
        needs: ``(weights,)``, the index in `Program.ends` of the smallest size of items that use each weight.
        factors: ``(terms, width)``, the places in the memory of an item of the factors of each term, padded with
            the place of 1. A term of padding has 0 as a factor.
        sums: ``(terms,)``, the place of the total of the sum to which each term belongs.
        stages: The stages in order; their terms follow each other.
        ends: ``(1 + sizes, terms, width)``, the factors of the terms of each size's total. The first are those of
            the single empty structure.
        totals: ``(sums,)``, the place of each total.
    """

    places: Tensor
    needs: Tensor
    factors: Tensor
    sums: Tensor
    stages: tuple[Stage, ...]
    ends: Tensor
    totals: Tensor


def plan_of(program: Program, shape: Sequence[int], device: torch.device) -> Plan:
    """Return a program as indices on a device; ``shape`` is that of the places of an item's main scores.

    If every row of a stage is one cell, perhaps times a weight, the stage needs no sums (`_are_products`): terms
    that use such a row have its cell and its weight as factors.
    """
    base = CONSTANTS + len(program.places)
    cells = np.full((len(program.maker) + 1, 2), ONE)  # the factors of each cell; the last entry means no cell
    cells[:-1][program.maker < 0, 0] = ZERO
    cells[program.leaves, 0] = ONE
    stages: list[Stage] = []
    factors, totals = [np.zeros((0, 6), np.int64)], [np.zeros(0, np.int64)]
    for stage in by_stage(program):
        out, mirror = stage[:, OUT], stage[:, MIRROR]
        if _are_products(stage, cells):
            cells[out] = np.stack([cells[stage[:, LEFT], 0], _weights(stage[:, WEIGHT])], 1)
        else:
            terms = _terms(stage, cells)
            stages.append(Stage(stages[-1].last if stages else 0, *terms.shape[:2]))
            total = base + stages[-1].first + terms.shape[1] * np.arange(1, len(stage) + 1) - 1
            cells[out] = np.stack([total, np.full_like(total, ONE)], 1)
            factors.append(terms.reshape(-1, 6))
            totals.append(total.repeat(terms.shape[1]))
        cells[mirror] = cells[out]
    joined, sums, ends = np.concatenate(factors), np.concatenate(totals), _terms(rows_of_ends(program), cells)
    width = max(int((each != ONE).sum(-1).max(initial=1)) for each in (joined, ends))

    def on_device(array: Array, dtype: type = np.int64) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array.astype(dtype))).to(device)

    return Plan(
        on_device(places_of(program, shape)), on_device(needs_of(program)[1]),
        on_device(joined[:, :width], np.int32), on_device(sums, np.int32), tuple(stages),
        on_device(ends[..., :width]), on_device(np.unique(sums)),
    )  # fmt: skip


def _are_products(stage: Array, cells: Array) -> bool:
    """Return True if each row is one cell, perhaps times a weight, and no such cell is itself a product.

    ``cells (cells + 1, 2)`` has the places of the two factors of each cell.
    """
    single = (stage[:, COUNT] == 1) & (stage[:, RIGHT] < 0) & (stage[:, EACH] < 0)
    return bool((single & (cells[stage[:, LEFT], 1] == ONE)).all())


def _terms(rows: Array, cells: Array) -> Array:
    """Return the places of the factors of the terms of rows, ``(rows, most terms, 6)``.

    Factors that are 1 come last. Terms beyond those of a row have the factor 0.
    """
    terms = np.arange(rows[:, COUNT].max())
    there = terms < rows[:, COUNT, None]

    def indices(column: int, step: Array) -> Array:
        return np.where(there & (rows[:, column, None] >= 0), rows[:, column, None] + step, -1)

    left, right = (cells[indices(column, terms)] for column in (LEFT, RIGHT))
    each, whole = _weights(indices(EACH, terms)), _weights(indices(WEIGHT, 0 * terms))
    result = np.concatenate([left, right, each[..., None], whole[..., None]], -1)
    result[~there, 0] = ZERO
    order = np.argsort(result == ONE, axis=-1, kind="stable")
    return np.take_along_axis(result, order, -1)


def _weights(weights: Array) -> Array:
    """Return the places of weights in the memory of an item; that of 1 for a negative index."""
    return np.where(weights >= 0, CONSTANTS + weights, ONE)
