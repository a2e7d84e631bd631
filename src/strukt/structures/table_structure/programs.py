"""Programs by number, as PyTorch operators refer to them, and their restriction to smaller items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from strukt.errors import StruktError
from strukt.kernels.arrays import Array
from strukt.kernels.engine.array_cache import ArrayCache
from strukt.kernels.engine.program import ALIVE, EACH, MIRROR, OUT, WEIGHT, Program
from strukt.kernels.engine.sizes import needs_of
from strukt.kernels.semiring import NEG_INF

_latest: ArrayCache[tuple[Program, Array, Array, Array]] = ArrayCache()
"""The latest programs, kept alive because a pending gradient may need them."""


def keep(program: Program) -> None:
    """Keep a program alive, among a limited number of the latest programs."""
    _latest.get(program.number, lambda: (program, program.rows, program.maker, program.places))


def get(number: int) -> Program:
    """Return the program with a number, which is unique in this process.

    Raises:
        StruktError: If the program no longer exists.
    """
    program = ALIVE.get(number)
    if program is None:
        raise StruktError(
            "the program of a TableStructure was discarded before its gradient was computed, since many others "
            "were built in between; keep a reference to the program"
        )
    return program


def build(n: int, number: int, _scores: Sequence[int]) -> Program:
    """Return the program with a number, for items of size n.

    The place of each weight's score is the index of the weight in the whole program.
    """
    return _of_size(get(number), n)


def _of_size(program: Program, n: int) -> Program:
    """Return the part of a program that items of size n need; its places are indices of the program's weights."""
    needs, needed = needs_of(program)
    rows, stages = program.rows[: len(needs)][needs < n], program.stages[needs < n]
    top, right, count = program.ends[n - 1].tolist()
    maker = np.full(len(program.maker) + 1, -1, np.int32)
    if count > 1 or right >= 0:
        total = np.array([[len(maker) - 1, len(maker) - 1, top, right, count, -1, -1]], np.int32)
        rows, top = np.append(rows, total, 0), len(maker) - 1
    maker[rows[:, OUT]] = maker[rows[:, MIRROR]] = np.arange(len(rows))
    used = needed < n
    numbers = np.append(np.cumsum(used) - 1, -1).astype(np.int32)  # the last one means none
    rows[:, [WEIGHT, EACH]] = numbers[rows[:, [WEIGHT, EACH]]]
    places = np.flatnonzero(used).astype(np.int32)[:, None]
    groups = _groups_of(program, used) if n == len(program.ends) else _one_group(len(places))
    return Program(rows, program.leaves, maker, *groups, places, top, stages, program.ends[:n])


def _groups_of(program: Program, used: Array) -> tuple[Array, Array, Array]:
    """Return ``groups``, ``times`` and ``degrees`` of a program of the weights in the mask ``used (weights,)``."""
    group = np.repeat(np.arange(len(program.times)), np.diff(program.groups))
    sizes = np.bincount(group[used], minlength=len(program.times))
    return np.append(0, np.cumsum(sizes)).astype(np.int32), program.times, program.degrees[used]


def _one_group(weights: int) -> tuple[Array, Array, Array]:
    """Return ``groups``, ``times`` and ``degrees`` that make one group of all weights, without a number of uses.

    The numbers declared for the largest size do not hold for smaller ones.
    """
    return np.array([0, weights], np.int32), np.zeros(1, np.int32), np.zeros(weights, np.int32)


def cells(number: int, scores: Sequence[int]) -> int:
    """Return the number of cells of the program that `build` returns, or one more."""
    return len(get(number).maker) + 1


def used(parts: Tensor, _program: int) -> Tensor:
    """Return the events of 0/1 vectors of parts ``(..., weights)``: 1 for weights that are used, 0 for others."""
    return (parts > 0).long()


def only_where_possible(events: Tensor, scores: Tensor) -> Tensor:
    """Return events ``(..., weights)``, -1 where the score ``(...)`` is -inf."""
    return events.masked_fill((scores == NEG_INF).unsqueeze(-1), -1)
