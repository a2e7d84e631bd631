"""Curves as SVG: lines over named places, each named at its end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from strukt.viz.canvas.svg import FORM, SMALL, opening, text, text_width
from strukt.viz.pictures.curves import Curves

_MARGIN, _TITLE, _HEIGHT, _GAP, _LINE, _LEAST = 14.0, 30.0, 220.0, 16.0, 15.0, 44.0


def draw(curves: Curves) -> str:
    """The picture for `strukt.viz.svg.draw`."""
    return "\n".join(_elements(curves))


def _elements(curves: Curves) -> Iterator[str]:
    step = max([_LEAST, *(text_width(place, SMALL) + 10 for place in curves.places)])
    left = _MARGIN + max([0.0, *(text_width(tick, SMALL) for _, tick in curves.ticks())]) + _GAP
    right = left + step * max(len(curves.places) - 1, 0)
    names = max([0.0, *(text_width(name, SMALL) for name in curves.curves)])
    width = max(right + names + 2 * _GAP + _MARGIN, text_width(curves.title, FORM) + 2 * _MARGIN)
    bottom = _MARGIN + _TITLE + _HEIGHT
    yield opening(curves.title, curves.description(), width, bottom + 2 * _LINE + _MARGIN)
    yield text(width / 2, _MARGIN + 14, "title", curves.title)
    for height, tick in curves.ticks():
        y = bottom - _HEIGHT * height
        yield f'<path class="grid" d="M{left:.1f} {y:.1f} L{right:.1f} {y:.1f}"/>'
        yield text(left - _GAP / 2 - text_width(tick, SMALL) / 2, y + 4, "number", tick)
    for place, name in enumerate(curves.places):
        yield text(left + step * place, bottom + 1.5 * _LINE, "number", name)
    heights = curves.heights()
    beside = _apart([bottom - _HEIGHT * values[-1] for values in heights.values() if values])
    for index, (name, values) in enumerate(heights.items()):
        points = [(left + step * place, bottom - _HEIGHT * height) for place, height in enumerate(values)]
        style = f'stroke-dasharray="{_dashes(index)}"'
        if points:
            yield f'<path class="arc" {style} d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'
            yield text(right + _GAP + text_width(name, SMALL) / 2, beside[index] + 4, "label", name)
        yield from (f'<circle class="tip" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in points)
    yield "</svg>"


def _dashes(index: int) -> str:
    """How the line of a curve is broken, so that none needs a colour to be told from others."""
    return ("none", "7 4", "2 3", "9 3 2 3", "4 4 1 4")[index % 5]


def _apart(heights: list[float]) -> list[float]:
    """Where names stand: beside the ends of the curves, and a line from each other."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    found = list(heights)
    for before, after in pairwise(order):
        found[after] = max(found[after], found[before] + _LINE)
    return found
