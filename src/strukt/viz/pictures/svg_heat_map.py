"""Tables of numbers as SVG: shaded cells, each with its number."""

from __future__ import annotations

from collections.abc import Iterator

from strukt.viz.canvas.svg import FORM, SMALL, opening, text, text_width
from strukt.viz.pictures.heat_map import HeatMap

SHADE = 0.45
"""How opaque the strongest cell is: its number stays readable, on light paper and on dark."""

_MARGIN, _TITLE, _HEADER, _CELL, _PADDING = 14.0, 26.0, 22.0, 32.0, 14.0


def draw(heat_map: HeatMap) -> str:
    """The picture for `strukt.viz.svg.draw`."""
    return "\n".join(_elements(heat_map))


def _elements(heat_map: HeatMap) -> Iterator[str]:
    numbers, shades = heat_map.numbers(), heat_map.shades()
    side = max(map(_room, heat_map.rows), default=0.0)
    cell = max([_CELL, *map(_room, heat_map.columns), *(_room(number) for row in numbers for number in row)])
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
        for column, (number, shade) in enumerate(zip(numbers[row], shades[row], strict=True)):
            yield from _cell(left + cell * column, y, cell, number, shade)
    yield "</svg>"


def _cell(x: float, y: float, width: float, number: str, shade: float) -> Iterator[str]:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_CELL:.1f}"'
    yield f'<rect class="cell" fill-opacity="{SHADE * shade:.3f}" {place}/>'
    yield text(x + width / 2, y + 20, "number", number)


def _room(content: str) -> float:
    return text_width(content, SMALL) + _PADDING
