"""A grid of terminal cells on which lines join by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from strukt.viz.canvas.width import clusters

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
_PASSES = 16  # a vertical line runs through: it crosses a horizontal one and does not join it
_BOX = " │││─╯╮┤─╰╭├─┴┬┼"  # by the directions in which a cell is joined; an end fills its cell

Palette = Mapping[str, str]
"""The terminal codes of each role, such as `{"tag": "36"}`; empty for text without colour."""

PLAIN: Palette = {}
COLOURED: Palette = {"line": "2", "label": "36", "form": "1", "tag": "33", "probability": "2"}


class Canvas:
    """Cells that hold box-drawing lines or text; rows and columns count from 0 and grow as needed.

    Examples:
        >>> canvas = Canvas()
        >>> canvas.path([(1, 0), (0, 0), (0, 6), (1, 6)])
        >>> canvas.write(0, 2, "det", "label")
        >>> print(canvas.render(PLAIN))
        ╭─det─╮
        │     │
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], int] = {}
        self._text: dict[tuple[int, int], tuple[str, str]] = {}

    def path(self, corners: list[tuple[int, int]]) -> None:
        """A line from corner to corner, given as (row, column), each beside or above the one before."""
        for (row, column), (next_row, next_column) in pairwise(corners):
            if row == next_row:
                self._horizontal(row, *sorted((column, next_column)))
            else:
                self._vertical(column, *sorted((row, next_row)))

    def _horizontal(self, row: int, start: int, stop: int) -> None:
        self._join(row, start, RIGHT)
        self._join(row, stop, LEFT)
        for column in range(start + 1, stop):
            self._join(row, column, LEFT | RIGHT)

    def _vertical(self, column: int, start: int, stop: int) -> None:
        self._join(start, column, DOWN)
        self._join(stop, column, UP)
        for row in range(start + 1, stop):
            self._join(row, column, UP | DOWN | _PASSES)

    def _join(self, row: int, column: int, directions: int) -> None:
        self._lines[row, column] = self._lines.get((row, column), 0) | directions

    def write(self, row: int, column: int, text: str, role: str) -> None:
        """Text over whatever is there; wide characters take two columns."""
        for cluster, columns in clusters(text):
            self._text[row, column] = (cluster, role)
            if columns == 2:
                self._text[row, column + 1] = ("", role)
            column += columns

    def is_plain_line(self, row: int, start: int, stop: int) -> bool:
        """Whether these cells hold a horizontal line that nothing crosses and no text covers."""
        cells = ((row, column) for column in range(start, stop))
        return all(self._lines.get(cell) == LEFT | RIGHT and cell not in self._text for cell in cells)

    def render(self, palette: Palette) -> str:
        """The rows as text, without spaces at their ends."""
        rows = 1 + max((row for row, _ in (*self._lines, *self._text)), default=-1)
        width = 1 + max((column for _, column in (*self._lines, *self._text)), default=-1)
        return "\n".join(self._row(row, width, palette).rstrip() for row in range(rows))

    def _row(self, row: int, width: int, palette: Palette) -> str:
        runs: list[tuple[str, list[str]]] = []
        for column in range(width):
            character, role = self._cell(row, column)
            if not runs or runs[-1][0] != role:
                runs.append((role, []))
            runs[-1][1].append(character)
        return "".join(paint("".join(characters), palette.get(role, "")) for role, characters in runs)

    def _cell(self, row: int, column: int) -> tuple[str, str]:
        if (row, column) in self._text:
            return self._text[row, column]
        directions = self._lines.get((row, column))
        if directions is None:
            return " ", "space"
        if directions & _PASSES and directions & LEFT and directions & RIGHT:
            return "│", "line"
        return _BOX[directions & ~_PASSES], "line"


def paint(text: str, code: str) -> str:
    r"""Text in the given terminal code; unchanged where the code is empty.

    Examples:
        >>> paint("tag", "33")
        '\x1b[33mtag\x1b[0m'
    """
    return f"\x1b[{code}m{text}\x1b[0m" if code else text
