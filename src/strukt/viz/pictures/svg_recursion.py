"""Recursions as SVG: a column of cells for each stage, lines from what a sum reads, weights beside them."""

from __future__ import annotations

from collections.abc import Iterator

from strukt.viz.canvas.svg import opening, text
from strukt.viz.pictures.recursion import Recursion

_MARGIN, _TITLE, _COLUMN, _ROW, _RADIUS = 24.0, 30.0, 90.0, 48.0, 12.0


def draw(recursion: Recursion) -> str:
    """The picture for `strukt.viz.svg.draw`."""
    return "\n".join(_elements(recursion))


def _elements(recursion: Recursion) -> Iterator[str]:
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


def _on_line(start: tuple[float, float], end: tuple[float, float], name: str) -> str:
    """Text on a line, near its end, where fewer others pass; it stands on paper."""
    x, y = (0.25 * one + 0.75 * other for one, other in zip(start, end, strict=True))
    return text(x, y + 4, "label on", name)
