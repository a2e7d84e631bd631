"""Lattices as SVG: a column of tags above each word, the more opaque the more probable, and lines between."""

from __future__ import annotations

from collections.abc import Iterator

from strukt.viz.canvas.svg import FORM, SMALL, opening, text, text_width
from strukt.viz.pictures.arcs.listing import shorten
from strukt.viz.pictures.lattice import LEAST, Lattice

_MARGIN, _TITLE, _ROW, _GAP, _RADIUS, _WORD = 14.0, 30.0, 40.0, 46.0, 9.0, 34.0


def draw(lattice: Lattice) -> str:
    """The picture for `strukt.viz.svg.draw`."""
    return "\n".join(_elements(lattice))


def _elements(lattice: Lattice) -> Iterator[str]:
    used = lattice.used()
    rows = {tag: row for row, tag in enumerate(used)}
    side = max([0.0, *(text_width(lattice.tags[tag], SMALL) for tag in used)]) + 2 * _MARGIN
    top = _MARGIN + (_TITLE if lattice.title else 0.0) + _ROW / 2
    centres, right = _centres(lattice, side)
    width = max(right + _MARGIN, text_width(lattice.title, FORM) + 2 * _MARGIN)
    bottom = top + _ROW * max(len(used) - 1, 0) + _ROW / 2
    yield opening(lattice.heading, lattice.description(), width, bottom + _WORD + _MARGIN)
    if lattice.title:
        yield text(width / 2, _MARGIN + 14, "title", lattice.title)
    for step in lattice.steps():
        if step.before in rows and step.after in rows:
            start, end = (centres[step.word], top + _ROW * rows[step.before]), (
                centres[step.word + 1], top + _ROW * rows[step.after],
            )  # fmt: skip
            yield _line(start, end, step.probability)
    for tag, row in rows.items():
        yield text(side / 2, top + _ROW * row + 4, "label", lattice.tags[tag])
        for word, x in enumerate(centres):
            if lattice.marginals[word][tag] >= LEAST:
                yield from _node(x, top + _ROW * row, lattice.marginals[word][tag])
    for x, form in zip(centres, lattice.forms, strict=True):
        yield text(x, bottom + _WORD / 2 + 6, "form", form)
    yield "</svg>"


def _centres(lattice: Lattice, left: float) -> tuple[list[float], float]:
    """Where the words stand, and where the last one ends."""
    centres = []
    for form in lattice.forms:
        room = max(text_width(form, FORM), 2 * _RADIUS) + _GAP
        centres.append(left + room / 2)
        left += room
    return centres, left


def _line(start: tuple[float, float], end: tuple[float, float], probability: float) -> str:
    place = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line class="step" {place} stroke-opacity="{0.15 + 0.85 * probability:.2f}" ' + (
        f'stroke-width="{0.75 + 2.25 * probability:.2f}"/>'
    )


def _node(x: float, y: float, probability: float) -> Iterator[str]:
    yield f'<circle class="gap" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:.1f}"/>'
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:.1f}" fill-opacity="{probability:.2f}"'
    yield f'<circle class="node" {place}/>'
    yield text(x, y + _RADIUS + 11, "probability", shorten(probability))
