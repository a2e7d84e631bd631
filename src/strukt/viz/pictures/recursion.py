"""The cells of a program, in the order in which sums make them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT, Array, Program
from strukt.shown import Shown

MOST = 150
"""More cells cannot be told apart."""


class Use(NamedTuple):
    """A cell that a sum reads, and the weight of the term; -1 for none."""

    source: int
    target: int
    weight: int


@dataclass(frozen=True)
class Recursion(Shown):
    """A program as a graph from its leaves to its total.

    Args:
        columns: Cells: the leaves, then those of each stage.
        stages: The stages.
        weights: The weight of each sum that has one of its own, by its cell.
        uses: What sums read.
        total: The cell of the total.

    Raises:
        ValueError: If there are more cells than `MOST`.
    """

    columns: list[list[int]]
    stages: list[int]
    weights: dict[int, int]
    uses: list[Use]
    total: int

    def __post_init__(self) -> None:
        count = sum(map(len, self.columns))
        if count > MOST:
            raise ValueError(
                f"the program has {count} cells, and {MOST} can be told apart; build it for a smaller size"
            )

    def description(self) -> str:
        """The picture in a sentence.

        Examples:
            >>> Recursion([[0], [1]], [0], {1: 0}, [Use(0, 1, -1)], 1).description()
            'A recursion of 2 cells in 1 stage, from 1 leaf to cell 1.'
        """
        leaves, stages = len(self.columns[0]), len(self.columns) - 1
        of_leaves = "1 leaf" if leaves == 1 else f"{leaves} leaves"
        in_stages = "1 stage" if stages == 1 else f"{stages} stages"
        cells = sum(map(len, self.columns))
        return f"A recursion of {cells} cells in {in_stages}, from {of_leaves} to cell {self.total}."


def of_program(program: Program) -> Recursion:
    """The graph of a program.

    A cell and its mirror are one. Cells that the total does not need are left out, leaves beside others, and
    cells that are 0.

    Raises:
        ValueError: If it has too many cells to be drawn.
    """
    main = np.arange(len(program.maker))
    main[program.rows[:, MIRROR]] = program.rows[:, OUT]
    some = _not_zero(program)
    needed, uses, weights = {int(main[program.top])}, [], {}
    stages: dict[int, list[int]] = {}
    stage_of = [*program.stages.tolist(), program.stages.max(initial=0) + 1]
    for number in range(len(program.rows) - 1, -1, -1):
        row = program.rows[number]
        out = int(row[OUT])
        if out not in needed:
            continue
        stages.setdefault(stage_of[number], []).insert(0, out)
        if row[WEIGHT] >= 0:
            weights[out] = int(row[WEIGHT])
        for k in range(row[COUNT]):
            weight = int(row[EACH]) + k if row[EACH] >= 0 else -1
            factors = [int(main[row[column] + k]) for column in (LEFT, RIGHT) if row[column] >= 0]
            if not some[factors].all():
                continue
            factors = [cell for cell in factors if program.maker[cell] >= 0] or factors[:1]  # 1 is no news
            needed.update(factors)
            uses += [Use(cell, out, -1 if place else weight) for place, cell in enumerate(factors)]
    leaves = sorted(needed & set(main[program.leaves].tolist()))
    order = sorted(stages)
    return Recursion([leaves, *(stages[key] for key in order)], order, weights, uses, int(main[program.top]))


def _not_zero(program: Program) -> Array:
    """Tell which cells are the total of something."""
    found = np.zeros(len(program.maker), bool)
    found[program.leaves] = True
    for out, mirror, left, right, count, *_ in program.rows.tolist():
        own = found[left : left + count]
        found[[out, mirror]] = (own & found[right : right + count] if right >= 0 else own).any()
    return found
