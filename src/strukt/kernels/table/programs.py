"""Programs by number, as operators of PyTorch can name them, and what is left of them for smaller items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from strukt.errors import StruktError
from strukt.kernels.engine.kept import Kept
from strukt.kernels.engine.program import ALIVE, Array, Program
from strukt.kernels.engine.sizes import needs_of
from strukt.kernels.semiring import NEG_INF

_latest: Kept[tuple[Program, Array, Array, Array]] = Kept()
"""Programs that nobody may hold any more, but a gradient may yet ask for."""


def keep(program: Program) -> None:
    """Keep a program among the latest ones."""
    _latest.get(program.number, lambda: (program, program.rows, program.maker, program.places))


def get(number: int) -> Program:
    """Find a program.

    Raises:
        StruktError: If it is gone.
    """
    program = ALIVE.get(number)
    if program is None:
        raise StruktError(
            "the program of a TableStructure is gone before its gradient is taken, as many others were made since"
            "; keep the program"
        )
    return program


def build(n: int, number: int, _scores: Sequence[int]) -> Program:
    """The program of a number for items of size n, whose weights have their numbers as places."""
    return _of_size(get(number), n)


def _of_size(program: Program, n: int) -> Program:
    """The part of a program that items of size n need."""
    places = np.arange(len(program.places), dtype=np.int32)[:, None]
    if n == len(program.ends):
        return replace(program, places=places)
    needed = needs_of(program)[0] < n
    rows, stages = program.rows[: len(program.stages)][needed], program.stages[needed]
    left, right, count = program.ends[n - 1].tolist()
    top, maker = left, program.maker.copy()
    if count > 1 or right >= 0:
        top = len(maker)
        rows = np.append(rows, np.array([[top, top, left, right, count, -1, -1]], np.int32), 0)
        maker = np.append(maker, np.int32(0))
    maker[:] = -1
    maker[rows[:, 0]] = maker[rows[:, 1]] = np.arange(len(rows))
    groups, times = np.array([0, len(places)], np.int32), np.zeros(1, np.int32)
    degrees = np.zeros(len(places), np.int32)  # which structures of this size may not share
    return Program(rows, program.leaves, maker, groups, times, degrees, places, top, stages, program.ends[:n])


def cells(number: int, scores: Sequence[int]) -> int:
    """The number of cells of `build`, or one more."""
    return len(get(number).maker) + 1


def used(parts: Tensor, _program: int) -> Tensor:
    """Events of parts: 1 for weights that are used, 0 for others."""
    return (parts > 0).long()


def only_where_possible(events: Tensor, scores: Tensor) -> Tensor:
    """Events ``(..., weights)`` of structures of scores ``(...)``; -1 where there is none, of score -inf."""
    return events.masked_fill((scores == NEG_INF).unsqueeze(-1), -1)
