"""Table programs over any semiring, in PyTorch: the reference of user-defined structures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import is_plain
from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.engine.array_cache import ArrayCache
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT, Program
from strukt.kernels.engine.rows import joined
from strukt.kernels.engine.sizes import by_stage, needs_of, rows_of_ends
from strukt.kernels.semiring import NEG_INF, Semiring
from strukt.kernels.undifferentiated import longest

ZERO, ONE = 0, 1
"""The indices of the first two values: the neutral elements of sum and product."""


class Stage(NamedTuple):
    """The rows of one stage, as indices ``(rows, terms)`` into the values so far and into the weights.

    Attributes:
        left: Indices of values; that of the neutral element of the sum for terms of padding.
        right: Indices of values, or None if no row has any.
        each: Indices of weights, or None if no row has any.
        whole: ``(rows,)``, indices of weights, or None if no row has any.
    """

    left: Tensor
    right: Tensor | None
    each: Tensor | None
    whole: Tensor | None


class Indices(NamedTuple):
    """A program as indices.

    Attributes:
        places: ``(weights,)``, the place of each weight's score in a row of scores.
        needs: ``(weights,)``, the smallest size of items that use each weight.
        stages: The stages in order; each appends its values.
        end: The stage of totals, one row for each size, beginning with size 0.
    """

    places: Tensor
    needs: Tensor
    stages: tuple[Stage, ...]
    end: Stage


class TableProgram(DynamicProgram):
    """The oracles of a table program whose weights are scattered over rows of joined scores.

    Args:
        build: ``build(n, *options, *shapes)`` writes the program of the largest items, given the shapes of the
            score tensors without the batch.
        axes: The number of axes of each score tensor besides the batch.
        to_events: As in `DynamicProgram`.
    """

    def __init__(
        self, build: Callable[..., Program], axes: Sequence[int], to_events: Callable[..., Tensor] | None = None
    ) -> None:
        self._build = build
        self._axes = axes
        self._cache: ArrayCache[Indices] = ArrayCache()
        super().__init__(self._recursion, len(axes), to_events)

    def _recursion(self, semiring: Semiring, *arguments: Any) -> Tensor:
        """Return the semiring's totals; the arguments are those of a `dynamic_program.Recursion`."""
        scores, (lengths, *options) = arguments[: self.count], arguments[self.count :]
        shapes = [tuple(score.shape[score.dim() - axes :]) for score, axes in zip(scores, self._axes, strict=True)]
        n = longest(lengths) if lengths.numel() else 0
        key = (n, *options, *shapes, str(lengths.device))
        row = joined([score.flatten(score.dim() - axes) for score, axes in zip(scores, self._axes, strict=True)])
        if n == 0:
            return semiring.one(row.sum(-1) * 0)

        def make() -> Indices:
            return indices_of(self._build(n, *options, *shapes), lengths.device)

        # A tensor that is made under torch.func belongs to the transformation, and must not outlive it.
        return total(semiring, row, self._cache.get(key, make) if is_plain() else make(), lengths)


def total(semiring: Semiring, scores: Tensor, indices: Indices, lengths: Tensor) -> Tensor:
    """Return the semiring's total over the structures of items of given sizes, ``(..., batch)``.

    Args:
        semiring: The semiring to compute in.
        scores: ``(..., batch, places)``.
        indices: The indices of the program of the largest size.
        lengths: ``(batch,)``, the size of each item; 0 for the single empty structure.

    The stages run one after another, in a few operations each, one of which copies the values so far.
    """
    beyond = indices.needs > lengths.unsqueeze(-1)
    weights = scores[..., indices.places].masked_fill(beyond, 0.0)  # padding: only larger items use these weights
    neutral = torch.zeros_like(scores[..., :1])  # the last weight is the neutral element
    weights = torch.cat([weights, neutral], -1)
    one = semiring.one(neutral)
    values = torch.cat([semiring.weigh(one, torch.full_like(neutral, NEG_INF)), one], -1)
    for stage in indices.stages:
        values = torch.cat([values, _made(semiring, stage, values, weights)], -1)
    totals = _made(semiring, indices.end, values, weights)
    return totals.gather(-1, lengths.unsqueeze(-1).expand(*totals.shape[:-1], 1)).squeeze(-1)


def _made(semiring: Semiring, stage: Stage, values: Tensor, weights: Tensor) -> Tensor:
    """Return the values that the rows of a stage compute, ``(..., rows)``, from those so far and the weights."""
    terms = values[..., stage.left]
    if stage.right is not None:
        terms = semiring.times(terms, values[..., stage.right])
    if stage.each is not None:
        terms = semiring.weigh(terms, weights[..., stage.each])
    sums = semiring.sum(terms, -1) if terms.shape[-1] > 1 else terms.squeeze(-1)
    return sums if stage.whole is None else semiring.weigh(sums, weights[..., stage.whole])


def indices_of(program: Program, device: torch.device) -> Indices:
    """Return a program as indices on a device."""
    at = np.full(len(program.maker) + 1, ZERO)  # the last entry means no factor
    at[program.leaves], at[-1] = ONE, ONE
    count = len(program.places)
    stages, made = [], 2
    for rows in by_stage(program):
        stages.append(_stage(rows, at, count, device))
        numbers = np.arange(made, made + len(rows))
        at[rows[:, OUT]] = at[rows[:, MIRROR]] = numbers
        made += len(rows)
    places = torch.from_numpy(program.places[:, :1].ravel().astype(np.int64))
    needs = torch.from_numpy(needs_of(program)[1].astype(np.int64) + 1)
    ends = _stage(rows_of_ends(program), at, count, device, least=2)
    return Indices(places.to(device), needs.to(device), tuple(stages), ends)


def _stage(rows: Array, at: Array, weights: int, device: torch.device, least: int = 1) -> Stage:
    """Return rows as indices of values, from ``at (cells + 1,)``, and of weights.

    ``at`` has the index of the value of each cell, `ZERO` if it has none, and last that of a missing factor;
    ``weights`` is the number of weights, which is also the index of a missing one. All rows are padded to the
    number of terms of the longest row, and at least to ``least``.
    """
    terms = np.arange(rows[:, COUNT].max(initial=least))
    there = terms < rows[:, COUNT, None]

    def cells(column: int) -> Array:
        first = rows[:, column, None]
        index = np.where(there & (first >= 0), first + terms, -1)  # the last entry
        return np.where(there, at[index], ZERO)

    def tensor(index: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(index)).to(device)

    each, whole = rows[:, EACH, None], rows[:, WEIGHT]
    return Stage(
        tensor(cells(LEFT)),
        tensor(cells(RIGHT)) if (rows[:, RIGHT] >= 0).any() else None,
        tensor(np.where(there & (each >= 0), each + terms, weights)) if (each >= 0).any() else None,
        tensor(np.where(whole >= 0, whole, weights)) if (whole >= 0).any() else None,
    )
