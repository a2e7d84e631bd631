"""Table programs as indices of factors, for PyTorch: a stage is a gather and a sum over segments of equal length.

A term is a product of factors, which are numbers in the memory of an item. The memory begins with the neutral
elements: the value of a missing term, and that of a missing factor. The weights follow, then the terms of all
sums. The last term of a sum becomes its total.
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
        first: The first of its terms.
        sums: The number of sums.
        terms: The number of terms of each.
    """

    first: int
    sums: int
    terms: int

    @property
    def last(self) -> int:
        """The number of terms up to the end of the stage."""
        return self.first + self.sums * self.terms


class Plan(NamedTuple):
    """A program as indices on a device.

    Attributes:
        places: ``(weights,)``, the place of each weight's score in the row of an item.
        needs: ``(weights,)``, the index of the smallest size of items that use each weight.
        factors: ``(terms, width)``, the places of the factors of each term in the memory of an item.
        sums: ``(terms,)``, the place of the total to which each term belongs.
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
    """Return a program as indices on a device, with scores at places of a shape.

    If every row of a stage is one cell, perhaps times a weight, its cells need no sums (`_are_products`): where
    one is used, its cell and its weight are factors.
    """
    base = CONSTANTS + len(program.places)
    cells = np.full((len(program.maker) + 1, 2), ONE)  # the factors of each; the last entry means no cell
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
    """Return True if each row is one cell, perhaps with a weight, and none of these cells has a weight already."""
    single = (stage[:, COUNT] == 1) & (stage[:, RIGHT] < 0) & (stage[:, EACH] < 0)
    return bool((single & (cells[stage[:, LEFT], 1] == ONE)).all())


def _terms(rows: Array, cells: Array) -> Array:
    """Return the factors ``(rows, most terms, 6)`` of the terms of rows, with those that are 1 last."""
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
    """Return the places of weights; negative ones are no factor."""
    return np.where(weights >= 0, CONSTANTS + weights, ONE)
