"""Heat maps: tables of numbers as shaded cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from strukt.errors import OutOfRangeError
from strukt.viz.canvas.svg import FORM, SMALL, opening, text, text_width
from strukt.viz.canvas.terminal import Palette, paint, shade
from strukt.viz.canvas.width import clip, display_width, folded, pad, pad_left, printable
from strukt.viz.canvas.wording import fixed
from strukt.viz.pictures.base import Picture

SHADE = 0.45
"""The opacity of the strongest cell: its number stays readable on light paper and on dark."""

_MARGIN, _TITLE, _HEADER, _CELL, _PADDING = 14.0, 26.0, 22.0, 32.0, 14.0


@dataclass(frozen=True)
class HeatMap(Picture):
    """Numbers by row and column, such as attention, or the Hamming distances between the codes of labels.

    Args:
        title: The title, which says what the numbers are.
        rows: The names of the rows.
        columns: The names of the columns.
        values: The numbers of each row, one for each column. The largest number of the table gets the strongest
            shade, the smallest none.

    Raises:
        ValueError: If there is not one finite number for each pair of a row and a column.

    Examples:
        >>> HeatMap("Distance", ["NP", "VP"], ["NP", "VP"], [[0, 3], [3, 0]]).numbers()
        [['0', '3'], ['3', '0']]
        >>> HeatMap("Attention", ["a"], ["b", "c"], [[0.25, 0.75]]).description()
        'Attention: a × b 0.25, a × c 0.75'
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.rows):
            raise ValueError(f"values has {len(self.values)} rows; expected {len(self.rows)}, one for each name")
        for name, row in zip(self.rows, self.values, strict=True):
            if len(row) != len(self.columns):
                raise ValueError(f"values has {len(row)} numbers in row {name!r}; expected {len(self.columns)}")
            for value in row:
                if not math.isfinite(value):
                    raise OutOfRangeError(f"values has {value} in row {name!r}; expected finite numbers")

    def shades(self) -> list[list[float]]:
        """Return the values scaled from 0, the smallest, to 1, the largest; 0 if all are equal."""
        every = [value for row in self.values for value in row]
        lowest = min(every, default=0.0)
        spread = max(every, default=0.0) - lowest or 1.0
        return [[(value - lowest) / spread for value in row] for row in self.values]

    def numbers(self) -> list[list[str]]:
        """Return the values as text: without decimals if all are integers, otherwise with two."""
        decimals = 0 if all(float(value).is_integer() for row in self.values for value in row) else 2
        return [[fixed(value, decimals) for value in row] for row in self.values]

    def description(self) -> str:
        """Describe the table in words, for screen readers."""
        cells = [
            f"{row} × {column} {number}"
            for row, numbers in zip(self.rows, self.numbers(), strict=True)
            for column, number in zip(self.columns, numbers, strict=True)
        ]
        return f"{self.title}: {', '.join(cells)}"


def svg(heat_map: HeatMap) -> str:
    """Draw a table of shaded cells, each with its number."""
    return "\n".join(_elements(heat_map))


def _elements(heat_map: HeatMap) -> Iterator[str]:
    """Draw the picture, element by element."""
    numbers, shades = heat_map.numbers(), heat_map.shades()
    side = max(map(_padded_width, heat_map.rows), default=0.0)
    texts = (*heat_map.columns, *(number for row in numbers for number in row))
    cell = max([_CELL, *map(_padded_width, texts)])
    left, top = _MARGIN + side, _MARGIN + _TITLE + _HEADER
    table = left + cell * len(heat_map.columns)
    width = _MARGIN + max(table, text_width(heat_map.title, FORM) + _MARGIN)
    yield opening(heat_map.title, heat_map.description(), width, top + _CELL * len(heat_map.rows) + _MARGIN)
    yield text(width / 2, _MARGIN + 14, "title", heat_map.title)
    for column, name in enumerate(heat_map.columns):
        yield text(left + cell * (column + 0.5), top - 8, "label", name)
    for row, name in enumerate(heat_map.rows):
        y = top + _CELL * row
        yield text(left - side / 2, y + 20, "label", name)
        for column, (number, share) in enumerate(zip(numbers[row], shades[row], strict=True)):
            yield from _cell(left + cell * column, y, cell, number, share)
    yield "</svg>"


def _cell(x: float, y: float, width: float, number: str, share: float) -> Iterator[str]:
    """Draw a cell with its number; a share of 1 is the strongest shade."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_CELL:.1f}"'
    yield f'<rect class="cell" fill-opacity="{SHADE * share:.3f}" {place}/>'
    yield text(x + width / 2, y + 20, "number", number)


def _padded_width(content: str) -> float:
    return text_width(content, SMALL) + _PADDING


def terminal(heat_map: HeatMap, width: int, palette: Palette) -> str:
    """Draw each number after a shade; columns that do not fit follow below, and long names are cut.

    Examples:
        >>> print(terminal(HeatMap("attention", ["a", "b"], ["x", "y"], [[0.25, 0.75], [0.5, 0]]), 80, {}))
        attention
        <BLANKLINE>
             x       y
        a  ▒ 0.25  █ 0.75
        b  ▓ 0.50    0.00
    """
    rows = [clip(row, width // 3) for row in heat_map.rows]
    names = [clip(column, width // 3) for column in heat_map.columns]
    cells = [
        [f"{shade(share)} {number}" for share, number in zip(shares, numbers, strict=True)]
        for shares, numbers in zip(heat_map.shades(), heat_map.numbers(), strict=True)
    ]
    longest = max((len(cell) for row in cells for cell in row), default=0)
    columns = [max(display_width(name) + 2, longest) for name in names]
    side = max(map(display_width, rows), default=0)
    code = palette.get("label", "")
    lines = [printable(heat_map.title)]
    for block in folded(columns, width - side - 2):
        header = (pad(f"  {names[column]}", columns[column]) for column in block)
        lines += ["", paint("  ".join([" " * side, *header]).rstrip(), code)]
        for row, values in zip(rows, cells, strict=True):
            shown = (_terminal_cell(values[column], longest, columns[column], code) for column in block)
            lines.append("  ".join([paint(pad(row, side), code), *shown]).rstrip())
    return "\n".join(lines)


def _terminal_cell(cell: str, longest: int, columns: int, code: str) -> str:
    mark, number = cell[0], cell[2:]
    return paint(mark, code) + pad(" " + pad_left(number, longest - 2), columns - 1)


def matplotlib(heat_map: HeatMap, axes: Any) -> None:
    """Draw an image with a number in each cell, in white on dark cells."""
    axes.imshow(heat_map.values, cmap="Blues")
    axes.set_xticks(range(len(heat_map.columns)), heat_map.columns)
    axes.set_yticks(range(len(heat_map.rows)), heat_map.rows)
    axes.set_title(heat_map.title)
    for row, (numbers, shades) in enumerate(zip(heat_map.numbers(), heat_map.shades(), strict=True)):
        for column, (number, share) in enumerate(zip(numbers, shades, strict=True)):
            axes.text(column, row, number, ha="center", va="center", color="white" if share > 0.7 else "black")
