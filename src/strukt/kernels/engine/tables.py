"""Programs as kernels take them, cached by size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.array_cache import ArrayCache
from strukt.kernels.engine.program import COUNT, Program
from strukt.kernels.engine.sizes import places_of
from strukt.kernels.engine.walk import extent
from strukt.kernels.interpreted import current


class Table(NamedTuple):
    """A program as kernels take it, for main scores of one shape.

    Attributes:
        rows: As in `Program`.
        leaves: As in `Program`.
        maker: As in `Program`.
        groups: As in `Program`.
        times: As in `Program`.
        degrees: As in `Program`.
        progress: The sum of the degrees of a structure.
        probable: Whether every structure uses one weight of each group, so that weights are probabilities within
            their groups.
        degree: ``(cells,)``, the sum of the degrees of the weights below each cell.
        places: ``(weights,)``, the place of each weight's score among all main scores of an item.
        top: As in `Program`.
        terms: The total number of terms of all rows.
        longest: The largest number of terms of a row.
        choices: The largest number of choices in a structure: the sums of several terms from which it has one.
        used: The largest number of weights that a structure uses.
        waiting: The largest number of cells on the stack of a walk through a structure; see `walk`.
    """

    rows: Array
    leaves: Array
    maker: Array
    groups: Array
    times: Array
    degrees: Array
    progress: int
    probable: bool
    degree: Array
    places: Array
    top: int
    terms: int
    longest: int
    choices: int
    used: int
    waiting: int


class Tables:
    """The tables of one recursion, cached.

    Args:
        build: ``build(n, *options)`` writes the program of items of length n >= 1.
    """

    def __init__(self, build: Callable[..., Program]) -> None:
        self._build = build
        self._cache: ArrayCache[Table] = ArrayCache()

    def get(self, n: int, options: Sequence[Any], shape: Sequence[int]) -> Table:
        """Return the table of items of length n; ``shape`` is that of the places of an item's main scores."""

        def make() -> Table:
            return _table(self._build(n, *options) if n else _of_nothing(len(shape)), shape)

        return self._cache.get((n, *options, *shape), make)


def _of_nothing(axes: int) -> Program:
    """Return the program of items of length 0, whose single structure is empty; places have this many axes."""
    none = np.zeros(0, np.int32)
    return Program(
        none.reshape(0, 7), np.zeros(1, np.int32), np.full(1, -1, np.int32), np.zeros(1, np.int32), none,
        none, none.reshape(0, axes), 0, none, np.array([[0, -1, 1]], np.int32),
    )  # fmt: skip


def _table(program: Program, shape: Sequence[int]) -> Table:
    """Return the table of a program, for main scores whose places have this shape."""
    rows, cells = program.rows, len(program.maker)
    places = places_of(program, shape)
    sizes, counts = current(extent)(rows, cells, program.degrees), rows[:, COUNT]
    return Table(
        rows, program.leaves, program.maker, program.groups, program.times, program.degrees,
        int(sizes[program.top, 3]), bool((program.times == 1).all()),
        sizes[:, 3].astype(np.int32), places, program.top, int(counts.sum()), int(counts.max(initial=1)),
        *map(int, sizes[program.top, :3]),
    )  # fmt: skip
