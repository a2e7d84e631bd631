"""Pictures as SVG: elements for web pages, and documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strukt.viz.canvas.svg import FORM, opening, placed_below, size, text, text_width
from strukt.viz.pictures.base import Picture, renderer
from strukt.viz.pictures.dependency_tree.picture import Diagram
from strukt.viz.pictures.weighted import WeightedStructures

__all__ = ["STYLE", "Picture", "document", "draw", "overlaid"]

STYLE = Path(__file__).with_name("picture.css").read_text(encoding="utf-8")
"""The style sheet of all pictures."""

_MARGIN, _TITLE = 14, 34


def draw(diagram: Picture) -> str:
    """Draw a picture as an `<svg>` element, which needs `STYLE` beside it; text is escaped.

    Args:
        diagram: The picture, such as a `Diagram`.

    Returns:
        The element, without a style sheet; `document` includes it.

    Raises:
        TypeError: If `diagram` is not a picture or cannot be drawn as SVG.

    Examples:
        >>> from strukt.viz import Diagram
        >>> picture = draw(Diagram(["Dogs", "bark"], heads=[2, 0], relations=["nsubj", "root"]))
        >>> picture.startswith('<svg class="strukt"'), picture.count('class="arc"')
        (True, 2)
    """
    element: str = renderer(diagram, "svg")(diagram)
    return element


def overlaid(structures: WeightedStructures) -> str | None:
    """Draw several structures in one picture: shared parts in grey, others in colour with their weight.

    Args:
        structures: The structures, of which the heaviest are drawn, at most nine.

    Returns:
        An `<svg>` element, which needs `STYLE` beside it; or None if there is nothing to compare: a single
        structure, tables, or pictures of different kinds or of different words.

    Examples:
        >>> trees = [Diagram(["Dogs", "bark"], heads=heads) for heads in ([2, 0], [0, 1])]
        >>> overlaid(WeightedStructures(trees, [0.7, 0.3])).count('class="other"')
        2
    """
    together = structures.together()
    return None if together is None else draw(together)


def document(*pictures: Picture) -> str:
    """Draw pictures as a complete SVG document with its style sheet, one below the other.

    Args:
        pictures: One or more pictures. If there are several, the titles of `Diagram` pictures are written above
            them; a single `Diagram` is drawn without its title.

    Raises:
        TypeError: If an argument is not a picture or cannot be drawn as SVG.

    Examples:
        >>> from strukt.viz import Diagram
        >>> document(Diagram(["Dogs"], ["NOUN"])).count("<style>")
        1
        >>> document(Diagram(["Dogs"], ["NOUN"], title="a"), Diagram(["Dogs"], ["VERB"], title="b")).count("<svg")
        3
    """
    element = draw(pictures[0]) if len(pictures) == 1 else _column(pictures)
    opened, rest = element.split("</desc>", 1)
    return f"{opened}</desc>\n<style>\n{STYLE}</style>{rest}\n"


def _column(pictures: Sequence[Picture]) -> str:
    """Draw pictures one below the other; a sentence has its title above it."""
    rows, width, height = [], 0, 0
    for picture in pictures:
        if isinstance(picture, Diagram) and picture.title:
            middle = _MARGIN + text_width(picture.title, FORM) / 2
            rows.append(text(middle, height + _MARGIN + 14, "title", picture.title))
            height += _TITLE
        element = draw(picture)
        rows.append(placed_below(element, height))
        columns, lines = size(element)
        width, height = max(width, columns), height + lines
    description = " ".join(picture.description() for picture in pictures)
    return "\n".join([opening(f"{len(pictures)} pictures", description, width, height), *rows, "</svg>"])
