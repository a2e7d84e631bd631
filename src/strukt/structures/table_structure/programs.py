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
    """Keep a program alive as one of the latest."""
    _latest.get(program.number, lambda: (program, program.rows, program.maker, program.places))


def get(number: int) -> Program:
    """Return the program of a number.

    Raises:
        StruktError: If it no longer exists.
    """
    program = ALIVE.get(number)
    if program is None:
        raise StruktError(
            "the program of a TableStructure was discarded before its gradient was computed, since many others "
            "were built in between; keep a reference to the program"
        )
    return program


def build(n: int, number: int, _scores: Sequence[int]) -> Program:
    """Return the program of a number for items of size n, with the numbers of weights as places."""
    return _of_size(get(number), n)


def _of_size(program: Program, n: int) -> Program:
    """Return the part of a program that items of size n need; weights keep their numbers as places."""
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
    shared = _of_all(program, used) if n == len(program.ends) else _all_alike(len(places))
    return Program(rows, program.leaves, maker, *shared, places, top, stages, program.ends[:n])


def _of_all(program: Program, used: Array) -> tuple[Array, Array, Array]:
    """Return, for the used weights, their groups, the number of uses of each group, and degrees."""
    group = np.repeat(np.arange(len(program.times)), np.diff(program.groups))
    sizes = np.bincount(group[used], minlength=len(program.times))
    return np.append(0, np.cumsum(sizes)).astype(np.int32), program.times, program.degrees[used]


def _all_alike(weights: int) -> tuple[Array, Array, Array]:
    """Return one group of all weights, without a number of uses: smaller structures may use different numbers."""
    return np.array([0, weights], np.int32), np.zeros(1, np.int32), np.zeros(weights, np.int32)


def cells(number: int, scores: Sequence[int]) -> int:
    """Return the number of cells of the program that `build` returns, or one more."""
    return len(get(number).maker) + 1


def used(parts: Tensor, _program: int) -> Tensor:
    """Return the events of parts: 1 for weights that are used, 0 for others."""
    return (parts > 0).long()


def only_where_possible(events: Tensor, scores: Tensor) -> Tensor:
    """Return events ``(..., weights)``, -1 where the score ``(...)`` is -inf."""
    return events.masked_fill((scores == NEG_INF).unsqueeze(-1), -1)
