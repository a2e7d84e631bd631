"""Sets of weighted structures as SVG: all in one picture where that can be, then one below the other.

Each stands under a bar that is as long as it is heavy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strukt.viz.canvas.svg import FORM, SMALL, lowered, opening, size, text, text_width
from strukt.viz.pictures.arcs.listing import shorten
from strukt.viz.pictures.overlay import svg as svg_overlay
from strukt.viz.pictures.overlay.picture import Overlay
from strukt.viz.pictures.weighted import WeightedStructures

_MARGIN, _TITLE, _CAPTION, _GAP, _BAR = 14.0, 30.0, 26.0, 12.0, 160.0


def draw(found: WeightedStructures, elements: Sequence[str], laid: Overlay | None = None) -> str:
    """The picture for `strukt.viz.svg.draw`.

    Args:
        found: The structures.
        elements: The picture of each.
        laid: All of them in one picture, if that can be drawn.
    """
    rows, bottom = [], _MARGIN
    widest = _MARGIN + text_width(max(found.title, found.remark(), key=len), FORM)
    if found.title:
        rows.append(_from_left(bottom + 14, "title", found.title, FORM))
        bottom += _TITLE
    if laid is not None:
        element = svg_overlay.draw(laid)
        rows += [_from_left(bottom + 14, "number", laid.remark(), SMALL), lowered(element, bottom + _CAPTION)]
        width, height = size(element)
        widest = max(widest, width, 2 * _MARGIN + text_width(laid.remark(), SMALL))
        bottom += _CAPTION + height + _GAP
    for weight, element in zip(found.weights, elements, strict=True):
        rows += [*_caption(bottom, weight), lowered(element, bottom + _CAPTION)]
        width, height = size(element)
        widest, bottom = max(widest, width), bottom + _CAPTION + height + _GAP
    if remark := found.remark():
        rows.append(_from_left(bottom + 14, "number", remark, SMALL))
        bottom += _TITLE
    widest = max(widest, _BAR + 7 * _MARGIN)
    return "\n".join([opening(found.heading, found.description(), widest, bottom), *rows, "</svg>"])


def _caption(y: float, weight: float) -> Iterator[str]:
    said = f"weight {shorten(weight)}"
    yield _from_left(y + 14, "number", said, SMALL)
    left = 2 * _MARGIN + text_width(said, SMALL)
    yield f'<rect class="bar" x="{left:.1f}" y="{y + 5:.1f}" width="{_BAR * weight:.1f}" height="10"/>'


def _from_left(y: float, role: str, content: str, font: float) -> str:
    return text(_MARGIN + text_width(content, font) / 2, y, role, content)
