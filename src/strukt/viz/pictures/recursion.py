"""Recursions: the cells of a program as a graph, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT, Program
from strukt.viz.canvas.svg import opening, text
from strukt.viz.pictures.base import Picture

MOST = 150
"""The largest number of cells that can be distinguished in a picture."""

_MARGIN, _TITLE, _COLUMN, _ROW, _RADIUS = 24.0, 30.0, 90.0, 48.0, 12.0

Point = tuple[float, float]


class Use(NamedTuple):
    """A cell that a sum reads, the cell of the sum, and the number of the term's weight; -1 for no weight."""

    source: int
    target: int
    weight: int


@dataclass(frozen=True)
class Recursion(Picture):
    """A program as a graph from its leaves to its total.

    Args:
        columns: The leaves, then the cells of each stage.
        stages: The number of each stage.
        weights: By cell, the number of the weight of a sum, for sums that have a weight.
        uses: The cells that sums read.
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
                f"the program has {count} cells; expected at most {MOST} to draw it: build it for a smaller size"
            )

    def description(self) -> str:
        """Describe the picture in a sentence, for screen readers.

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
    """Return the graph of a program.

    A cell and its mirror are one node. The graph leaves out cells that the total does not need, cells that are
    always 0, and leaves that multiply another cell.

    Raises:
        ValueError: If the program has too many cells to be drawn.
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
            sums = [cell for cell in factors if program.maker[cell] >= 0]
            factors = sums or factors[:1]  # a leaf that multiplies another cell is not drawn
            needed.update(factors)
            uses += [Use(cell, out, -1 if place else weight) for place, cell in enumerate(factors)]
    leaves = sorted(needed & set(main[program.leaves].tolist()))
    order = sorted(stages)
    return Recursion([leaves, *(stages[key] for key in order)], order, weights, uses, int(main[program.top]))


def _not_zero(program: Program) -> Array:
    """Return the mask of the cells that are not always 0: leaves, and sums with at least one such term."""
    result = np.zeros(len(program.maker), bool)
    result[program.leaves] = True
    for out, mirror, left, right, count, *_ in program.rows.tolist():
        terms = result[left : left + count]
        result[[out, mirror]] = (terms & result[right : right + count] if right >= 0 else terms).any()
    return result


def svg(recursion: Recursion) -> str:
    """Draw a column of cells for each stage, lines from the cells that sums read, and the weights."""
    return "\n".join(_elements(recursion))


def _elements(recursion: Recursion) -> Iterator[str]:
    """Draw the picture, element by element."""
    rows = max(map(len, recursion.columns))
    height = 2 * _MARGIN + _TITLE + _ROW * rows
    width = 2 * _MARGIN + _COLUMN * len(recursion.columns)
    yield opening("Recursion", recursion.description(), width, height)
    places = {}
    for column, cells in enumerate(recursion.columns):
        x = _MARGIN + _COLUMN * (column + 0.5)
        name = f"stage {recursion.stages[column - 1]}" if column else "leaves"
        yield text(x, _MARGIN + 10, "probability", name)
        for row, cell in enumerate(cells):
            above = _ROW * (rows - len(cells)) / 2
            places[cell] = x, _MARGIN + _TITLE + above + _ROW * (row + 0.5)
    for use in recursion.uses:
        (x, y), (to, end) = places[use.source], places[use.target]
        yield f'<line class="arc" x1="{x:.1f}" y1="{y:.1f}" x2="{to:.1f}" y2="{end:.1f}"/>'
    for cell, (x, y) in places.items():
        kind = "step" if cell == recursion.total else "arc"
        yield f'<circle class="gap" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:.1f}"/>'
        yield f'<circle class="{kind}" fill="none" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:.1f}"/>'
        yield text(x, y + 4, "number", str(cell))
        if cell in recursion.weights:
            yield text(x, y - _RADIUS - 4, "label", f"weight {recursion.weights[cell]}")
    for use in recursion.uses:
        if use.weight >= 0:
            yield _on_line(places[use.source], places[use.target], str(use.weight))
    yield "</svg>"


def _on_line(start: Point, end: Point, name: str) -> str:
    """Write text on a line, on a background, near the end of the line, where fewer others cross it."""
    x, y = (0.25 * one + 0.75 * other for one, other in zip(start, end, strict=True))
    return text(x, y + 4, "label on", name)
