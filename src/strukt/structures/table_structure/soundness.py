"""Checks of table programs: every error that can be detected from the program alone."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakSet

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine import soundness
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT, Program
from strukt.kernels.interpreted import current

ROUNDING = 1e-9
"""The relative difference up to which two sums of random lengths count as equal (see `_require_times`)."""

_sound: WeakSet[Program] = WeakSet()
"""The programs that were checked before."""


def require_sound(program: Program) -> None:
    """Check a program, unless it was checked before; time O(terms x weights / 64).

    Raises:
        ValueError: If a sum has no terms, refers to cells or weights that do not exist, writes a leaf or a cell
            that another sum writes, uses a cell of its own stage or a later one, or lets a structure use a weight
            twice; the message names the row of `Program.rows`, the total or the leaf. Also if groups of weights
            are not used as often as declared, or degrees do not have the same sum in all structures.
    """
    if program in _sound:
        return
    _require_runs(program)
    _require_one_maker(program)
    _require_order(program)
    _require_once(program)
    _require_times(program)
    _require_degrees(program)
    _sound.add(program)


def _require_runs(program: Program) -> None:
    """Check that sums have terms, and that their cells and weights exist; those of totals and leaves, too."""
    rows, cells, weights = program.rows, len(program.maker), len(program.places)
    one, terms = np.ones_like(rows[:, COUNT]), rows[:, COUNT]
    _refuse(terms < 1, lambda row: f"row {row} has {terms[row]} terms; expected 1 or more")
    for column, least, most, size, kind in (
        (OUT, 0, cells, one, "cell"), (MIRROR, 0, cells, one, "cell"), (LEFT, 0, cells, terms, "cell"),
        (RIGHT, -1, cells, terms, "cell"), (WEIGHT, -1, weights, one, "weight"),
        (EACH, -1, weights, terms, "weight"),
    ):  # fmt: skip
        _require_run("row", rows[:, column], size, least, most, kind)
    left, right, count = program.ends.T
    _refuse(count < 1, lambda size: f"the total of size {size + 1} has {count[size]} terms; expected 1 or more")
    _require_run("total of size 1 +", left, count, 0, cells, "cell")
    _require_run("total of size 1 +", right, count, -1, cells, "cell")
    _require_run("leaf", program.leaves, np.ones_like(program.leaves), 0, cells, "cell")


def _require_run(place: str, first: Array, size: Array, least: int, most: int, kind: str) -> None:
    """Check runs of cells or weights, of which there are ``most``, so that none is out of range.

    Run k has ``size[k]`` entries from ``first[k]`` on; ``least`` is -1 where -1 stands for no run, else 0.
    ``place`` and ``kind`` are nouns for the message, for the owner of a run and for its entries.
    """
    wrong = (first < least) | ((first >= 0) & (first + size > most))
    _refuse(
        wrong,
        lambda row: f"{place} {row} has {size[row]} {kind}s from {kind} {first[row]} on, and there are {most}",
    )


def _require_one_maker(program: Program) -> None:
    """Check that no two sums write a cell, and none writes a leaf."""
    made: dict[int, str] = {int(cell): "a leaf" for cell in program.leaves}
    for row, (out, mirror) in enumerate(program.rows[:, [OUT, MIRROR]].tolist()):
        for cell in {out, mirror}:
            if cell in made:
                raise ValueError(f"program: row {row} writes cell {cell}, which is {made[cell]} already")
            made[cell] = f"written by row {row}"


def _require_order(program: Program) -> None:
    """Check that sums use only cells of earlier stages."""
    stages = np.append(program.stages, np.iinfo(np.int64).max)[: len(program.rows)]
    for row, (left, right, count) in enumerate(program.rows[:, [LEFT, RIGHT, COUNT]].tolist()):
        for first in (left, right):
            maker = program.maker[first : first + count] if first >= 0 else program.maker[:0]
            late = np.flatnonzero((maker >= 0) & (stages[maker] >= stages[row]))
            if len(late):
                cell, other = first + int(late[0]), int(maker[late[0]])
                raise ValueError(
                    f"program: row {row} of stage {stages[row]} uses cell {cell}, which row {other} makes in "
                    f"stage {stages[other]}; sums may use cells of earlier stages"
                )


def _require_once(program: Program) -> None:
    """Check that no structure of any size uses a weight twice."""
    rows, cells, sizes = program.rows, len(program.maker), len(program.ends)
    totals = np.full((sizes, rows.shape[1]), -1, np.int32)
    totals[:, OUT] = totals[:, MIRROR] = cells + np.arange(sizes)
    totals[:, [LEFT, RIGHT, COUNT]] = program.ends
    every = np.concatenate([rows, totals])
    for first in range(0, len(program.places), 64 * soundness.WORDS):
        row, term, weight = current(soundness.first_twice)(every, program.leaves, cells + sizes, first)
        if row >= 0:
            place = f"row {row}" if row < len(rows) else f"the total of size {row - len(rows) + 1}"
            raise ValueError(
                f"program: {place} lets a structure use weight {weight} twice, in its term {term}; declare a "
                "weight for each use"
            )


def _require_times(program: Program) -> None:
    """Check that every structure uses as many weights of each group as declared, where a number is declared.

    Each group gets a random length. If all structures use these numbers of weights, their sums of lengths are
    equal; otherwise they almost surely differ.
    """
    times, counts = program.times, np.diff(program.groups)
    lengths = np.where(times > 0, np.random.default_rng(0).uniform(1.0, 2.0, len(times)), 0.0)
    expected = float((lengths * times).sum())
    least, most = _extremes(program, np.repeat(lengths, counts))
    if least > most or max(abs(least - expected), abs(most - expected)) <= ROUNDING * max(expected, 1.0):
        return
    for group in np.flatnonzero(times > 0).tolist():
        fewest, most = _extremes(program, np.repeat(np.arange(len(times)) == group, counts).astype(float))
        if (fewest, most) != (times[group], times[group]):
            used = f"{fewest:.0f}" if fewest == most else f"{fewest:.0f} to {most:.0f}"
            first, end = program.groups[group : group + 2].tolist()
            named = f"the weights {first} to {end - 1}" if end > first else f"group {group}, which has no weights"
            raise ValueError(
                f"program: every structure must use {times[group]} of {named}, but uses {used}; give the right "
                "number, or declare them with ProgramBuilder.scattered"
            )


def _require_degrees(program: Program) -> None:
    """Check that degrees sum to the same number in all structures."""
    least, most = _extremes(program, program.degrees.astype(float))
    if least < most:
        raise ValueError(
            f"program: the degrees of weights sum to {least:.0f} in one structure and to {most:.0f} in another; "
            "give degrees of which all have the same sum, or none"
        )


def _extremes(program: Program, lengths: Array) -> tuple[float, float]:
    """Return the least and the largest sum, over all structures, of the ``lengths (weights,)`` that they use.

    They are inf and -inf if there are no structures.
    """
    ask = current(soundness.extremes)
    return ask(program.rows, program.leaves, len(program.maker), program.top, lengths)  # type: ignore[no-any-return]


def _refuse(wrong: Array, message: Callable[[int], str]) -> None:
    """Raise ValueError, with the message for the index of the first wrong entry, if any entry is wrong."""
    if wrong.any():
        raise ValueError(f"program: {message(int(np.flatnonzero(wrong)[0]))}")
