"""Curves in a terminal: a line for each place, with the number of each curve and a bar."""

from __future__ import annotations

from strukt.viz.canvas.blocks import bar
from strukt.viz.canvas.terminal import Palette, paint
from strukt.viz.canvas.width import clip, display_width, pad, pad_left, printable
from strukt.viz.pictures.arcs.listing import folded
from strukt.viz.pictures.curves import Curves

_LEAST, _MOST = 6, 40  # columns of a bar


def draw(curves: Curves, width: int, palette: Palette) -> str:
    """The picture for `strukt.viz.terminal.draw`: curves that do not fit beside each other follow below.

    Examples:
        >>> curves = Curves("error", ["1-5", "6-10"], {"with": [1.0, 2.0], "without": [2.5, 3.0]})
        >>> print(draw(curves, 34, {}))
        error (bars from 1 to 3)
        <BLANKLINE>
              with          without
         1-5  1             2.5  ██████▊
        6-10  2  ████▌      3    █████████
    """
    places = [clip(place, width // 3) for place in curves.places]
    side = max(map(display_width, places), default=0)
    code = palette.get("label", "")
    names = [clip(name, width // 3) for name in curves.curves]
    numbers = [[f"{value:.3g}" for value in values] for values in curves.curves.values()]
    heights = list(curves.heights().values())
    wide = [max(map(len, column), default=0) for column in numbers]
    needed = [max(display_width(name), number + 2 + _LEAST) for name, number in zip(names, wide, strict=True)]
    lines = [printable(curves.title) + _scale(curves)]
    for block in folded(needed, width - side - 2):
        free = width - side - sum(needed[curve] + 2 for curve in block)
        more = min(free // len(block), _MOST - _LEAST)
        room = [needed[curve] + more for curve in block]
        header = (pad(names[curve], columns) for curve, columns in zip(block, room, strict=True))
        lines += ["", paint("  ".join([" " * side, *header]).rstrip(), code)]
        for place, name in enumerate(places):
            cells = (
                pad(numbers[curve][place], wide[curve] + 2)
                + paint(pad(bar(heights[curve][place], _LEAST + more), columns - wide[curve] - 2), code)
                for curve, columns in zip(block, room, strict=True)
            )
            lines.append("  ".join([paint(pad_left(name, side), code), *cells]).rstrip())
    return "\n".join(lines)


def _scale(curves: Curves) -> str:
    """Where bars begin and end."""
    ticks = [tick for _, tick in curves.ticks()]
    factors = ", in equal factors" if curves.is_logarithmic else ""
    return f" (bars from {ticks[0]} to {ticks[-1]}{factors})" if ticks else ""
