"""Elements of SVG pictures; all text is escaped."""

from __future__ import annotations

import re
from html import escape

from strukt.viz.canvas.width import clusters, printable
from strukt.viz.canvas.wording import shorten

FORM, SMALL = 17.0, 12.0
"""The font sizes of words and of labels, in pixels."""

_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')
_NARROW, _WIDE = set("iIjlftr.,:;'!|()[]- "), set("mwMW%@—")


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in a proportional font, in pixels.

    Examples:
        >>> text_width("mm", 10.0) > text_width("ii", 10.0)
        True
    """
    return size * sum(_advance(cluster, columns) for cluster, columns in clusters(text))


def _advance(character: str, columns: int) -> float:
    """Return the estimated width of a character, in units of the font size."""
    if columns == 2:
        return 1.05
    if character in _NARROW:
        return 0.36
    if character in _WIDE:
        return 0.92
    return 0.72 if character.isupper() else 0.58


def opening(title: str, description: str, width: float, height: float) -> str:
    """Return the start of a picture, with its size, and its title and description for screen readers.

    Browsers read `<title>` and `<desc>` without attributes that refer to them, so the pictures of a page need no
    ids, which could clash.
    """
    return (
        f'<svg class="strukt" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n'
        f"<title>{escape(printable(title))}</title>\n<desc>{escape(printable(description))}</desc>"
    )


def size(element: str) -> tuple[int, int]:
    """Return the width and the height of a picture."""
    width, height = map(int, _SIZE.findall(element)[0])
    return width, height


def placed_below(element: str, y: float) -> str:
    """Place a picture inside another one, `y` pixels below its top."""
    return element.replace("<svg ", f'<svg y="{y:.0f}" ', 1)


def text(x: float, y: float, role: str, content: str) -> str:
    """Return text centred at `x` with its baseline at `y`, in pixels; its role is a class of the style sheet."""
    return f'<text class="{role}" x="{x:.1f}" y="{y:.1f}">{escape(printable(content))}</text>'


def label(x: float, y: float, name: str, probability: float | None, number: str = "") -> str:
    """Return a label centred at `x` with its baseline at `y`, in pixels.

    It is followed by `number`, or if that is empty, by its probability if known.
    """
    number = number or ("" if probability is None else shorten(probability))
    suffix = number and f' <tspan class="probability">{number}</tspan>'
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}">{escape(printable(name))}{suffix}</text>'


def opacity(probability: float | None) -> str:
    """Return the opacity attribute of a line: improbable lines are lighter, but never invisible."""
    return "" if probability is None else f' opacity="{0.35 + 0.65 * probability:.2f}"'
