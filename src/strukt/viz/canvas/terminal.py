"""The terminal as a canvas: a grid of cells, colours by role, shades and bars."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import ceil

from strukt.viz.canvas.width import clusters

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
"""The bits of a cell: the directions in which lines leave it."""

_PASSES = 16  # set where a vertical line passes: it crosses horizontal lines and does not join them
_BOX = " │││─╯╮┤─╰╭├─┴┬┼"  # indexed by the joined directions of a cell; a line end fills its whole cell

Palette = Mapping[str, str]
"""The terminal codes of each role, such as `{"tag": "36"}`; empty for text without colour."""

PLAIN: Palette = {}
"""No colours."""

COLOURED: Palette = {"line": "2", "label": "36", "form": "1", "tag": "33", "probability": "2"}
"""The colours of the command line."""

_SHADES, _EIGHTHS = " ░▒▓█", " ▏▎▍▌▋▊▉"


class Grid:
    """Terminal cells with text or box-drawing lines, which join where they meet.

    Rows and columns are counted from 0, and the grid grows as needed.

    Examples:
        >>> grid = Grid()
        >>> grid.path([(1, 0), (0, 0), (0, 6), (1, 6)])
        >>> grid.write(0, 2, "det", "label")
        >>> print(grid.render(PLAIN))
        ╭─det─╮
        │     │
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], int] = {}
        self._text: dict[tuple[int, int], tuple[str, str]] = {}

    def path(self, corners: list[tuple[int, int]]) -> None:
        """Draw a line through corners (row, column); consecutive corners share a row or a column."""
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
        """Write text over the present content; wide characters take two columns."""
        for cluster, columns in clusters(text):
            self._text[row, column] = (cluster, role)
            if columns == 2:
                self._text[row, column + 1] = ("", role)
            column += columns

    def is_plain_line(self, row: int, start: int, stop: int) -> bool:
        """Return True if the cells hold a horizontal line that no line crosses and no text covers."""
        cells = ((row, column) for column in range(start, stop))
        return all(self._lines.get(cell) == LEFT | RIGHT and cell not in self._text for cell in cells)

    def render(self, palette: Palette) -> str:
        """Return the rows as text in the colours of a palette, without trailing spaces; "" for an empty grid."""
        rows = 1 + max((row for row, _ in (*self._lines, *self._text)), default=-1)
        width = 1 + max((column for _, column in (*self._lines, *self._text)), default=-1)
        return "\n".join(self._row(row, width, palette).rstrip() for row in range(rows))

    def _row(self, row: int, width: int, palette: Palette) -> str:
        """Return a row of cells as text, with the terminal code of each run of cells of one role."""
        runs: list[tuple[str, list[str]]] = []
        for column in range(width):
            character, role = self._cell(row, column)
            if not runs or runs[-1][0] != role:
                runs.append((role, []))
            runs[-1][1].append(character)
        return "".join(paint("".join(characters), palette.get(role, "")) for role, characters in runs)

    def _cell(self, row: int, column: int) -> tuple[str, str]:
        """Return the text of a cell and its role; the text is empty after a wide character."""
        if (row, column) in self._text:
            return self._text[row, column]
        directions = self._lines.get((row, column))
        if directions is None:
            return " ", "space"
        if directions & _PASSES and directions & LEFT and directions & RIGHT:
            return "│", "line"
        return _BOX[directions & ~_PASSES], "line"


def paint(text: str, code: str) -> str:
    r"""Wrap text in a terminal code; an empty code leaves it unchanged.

    Examples:
        >>> paint("tag", "33")
        '\x1b[33mtag\x1b[0m'
    """
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def shade(share: float) -> str:
    """Return a block character that is darker for larger shares in [0, 1]; only 0 is empty.

    Examples:
        >>> shade(0.0), shade(0.01), shade(0.5), shade(1.0)
        (' ', '░', '▒', '█')
    """
    return _SHADES[ceil(min(max(share, 0.0), 1.0) * 4)]


def bar(share: float, columns: int) -> str:
    """Return a bar that fills the columns if the share is 1; its length is rounded to eighths of a column.

    Examples:
        >>> bar(0.5, 5), bar(1.0, 3), bar(0.0, 3)
        ('██▌', '███', '')
    """
    whole, eighths = divmod(round(min(max(share, 0.0), 1.0) * columns * 8), 8)
    return "█" * whole + _EIGHTHS[eighths].strip()
