"""Sentences, tables, graphs and curves as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from strukt.viz.canvas.svg import FORM, lowered, opening, size, text, text_width
from strukt.viz.pictures import (
    svg_curves,
    svg_graph,
    svg_heat_map,
    svg_interactions,
    svg_lattice,
    svg_recursion,
    svg_weighted,
)
from strukt.viz.pictures.arcs import svg as svg_arcs
from strukt.viz.pictures.arcs.picture import Diagram
from strukt.viz.pictures.brackets import svg as svg_brackets
from strukt.viz.pictures.brackets.picture import BracketDiagram
from strukt.viz.pictures.curves import Curves
from strukt.viz.pictures.graph import Graph
from strukt.viz.pictures.heat_map import HeatMap
from strukt.viz.pictures.interactions import Interactions
from strukt.viz.pictures.lattice import Lattice
from strukt.viz.pictures.overlay import svg as svg_overlay
from strukt.viz.pictures.overlay.picture import overlay
from strukt.viz.pictures.recursion import Recursion
from strukt.viz.pictures.weighted import WeightedStructures

Picture = (
    Diagram | BracketDiagram | HeatMap | Graph | Interactions | Curves | Lattice | Recursion | WeightedStructures
)
"""What can be drawn."""

STYLE = Path(__file__).with_name("picture.css").read_text(encoding="utf-8")
"""The style sheet that goes with every picture."""


def _weighted(found: WeightedStructures) -> str:
    return svg_weighted.draw(found, [draw(picture) for picture in found.pictures], overlay(found))


_DRAWERS: Mapping[type, Callable[..., str]] = {
    Diagram: svg_arcs.draw,
    BracketDiagram: svg_brackets.draw,
    HeatMap: svg_heat_map.draw,
    Graph: svg_graph.draw,
    Interactions: svg_interactions.draw,
    Curves: svg_curves.draw,
    Lattice: svg_lattice.draw,
    Recursion: svg_recursion.draw,
    WeightedStructures: _weighted,
}

_MARGIN, _TITLE = 14, 34


def draw(diagram: Picture) -> str:
    """An `<svg>` element that needs `STYLE` beside it; text is escaped.

    Args:
        diagram: What is to be seen.

    Raises:
        TypeError: If there is no drawing of such a thing.

    Examples:
        >>> picture = draw(Diagram(["Dogs", "bark"], heads=[2, 0], relations=["nsubj", "root"]))
        >>> picture.startswith('<svg class="strukt"'), picture.count('class="arc"')
        (True, 2)
    """
    drawer = _DRAWERS.get(type(diagram))
    if drawer is None:
        names = " or ".join(kind.__name__ for kind in _DRAWERS)
        raise TypeError(f"diagram: got a {type(diagram).__name__}, expected a {names}")
    return drawer(diagram)


def overlaid(found: WeightedStructures) -> str | None:
    """Structures laid over each other as an `<svg>` element: shared parts in grey, others with their weight.

    Args:
        found: The structures; the heaviest few are drawn.

    Returns:
        None where there is nothing to compare, as of a single one.

    Examples:
        >>> trees = [Diagram(["Dogs", "bark"], heads=heads) for heads in ([2, 0], [0, 1])]
        >>> overlaid(WeightedStructures(trees, [0.7, 0.3])).count('class="other"')
        2
    """
    laid = overlay(found)
    return None if laid is None else svg_overlay.draw(laid)


def document(*pictures: Picture) -> str:
    """A file by itself: what `draw` gives, one below the other under their titles, with the style sheet inside.

    Args:
        pictures: What is to be seen.

    Raises:
        TypeError: As `draw`.

    Examples:
        >>> document(Diagram(["Dogs"], ["NOUN"])).count("<style>")
        1
        >>> document(Diagram(["Dogs"], ["NOUN"], title="a"), Diagram(["Dogs"], ["VERB"], title="b")).count("<svg")
        3
    """
    element = draw(pictures[0]) if len(pictures) == 1 else _column(pictures)
    opened, rest = element.split("</desc>", 1)
    return f"{opened}</desc>\n<style>\n{STYLE}</style>{rest}\n"


def _column(pictures: Sequence[Picture]) -> str:
    """Pictures one below the other, those of sentences under their titles."""
    rows, width, height = [], 0, 0
    for picture in pictures:
        if isinstance(picture, Diagram) and picture.title:
            middle = _MARGIN + text_width(picture.title, FORM) / 2
            rows.append(text(middle, height + _MARGIN + 14, "title", picture.title))
            height += _TITLE
        element = draw(picture)
        rows.append(lowered(element, height))
        columns, lines = size(element)
        width, height = max(width, columns), height + lines
    description = " ".join(picture.description() for picture in pictures)
    return "\n".join([opening(f"{len(pictures)} pictures", description, width, height), *rows, "</svg>"])
