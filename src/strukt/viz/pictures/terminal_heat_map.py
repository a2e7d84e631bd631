"""Tables of numbers in a terminal: each number behind a shade."""

from __future__ import annotations

from strukt.viz.canvas.blocks import shade
from strukt.viz.canvas.terminal import Palette, paint
from strukt.viz.canvas.width import clip, display_width, pad, pad_left, printable
from strukt.viz.pictures.arcs.listing import folded
from strukt.viz.pictures.heat_map import HeatMap


def draw(heat_map: HeatMap, width: int, palette: Palette) -> str:
    """The picture for `strukt.viz.terminal.draw`: columns that do not fit follow below, names are cut short.

    Examples:
        >>> print(draw(HeatMap("attention", ["a", "b"], ["x", "y"], [[0.25, 0.75], [0.5, 0]]), 80, {}))
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
    number = max((len(cell) for row in cells for cell in row), default=0)
    columns = [max(display_width(name) + 2, number) for name in names]
    side = max(map(display_width, rows), default=0)
    code = palette.get("label", "")
    lines = [printable(heat_map.title)]
    for block in folded(columns, width - side - 2):
        header = (pad(f"  {names[column]}", columns[column]) for column in block)
        lines += ["", paint("  ".join([" " * side, *header]).rstrip(), code)]
        for row, values in zip(rows, cells, strict=True):
            shown = (_cell(values[column], number, columns[column], code) for column in block)
            lines.append("  ".join([paint(pad(row, side), code), *shown]).rstrip())
    return "\n".join(lines)


def _cell(cell: str, number: int, columns: int, code: str) -> str:
    mark, value = cell[0], cell[2:]
    return paint(mark, code) + pad(" " + pad_left(value, number - 2), columns - 1)
