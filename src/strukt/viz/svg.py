"""Sentences, tables, graphs and curves as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from strukt.viz import svg_arcs, svg_brackets, svg_curves, svg_graph, svg_heat_map
from strukt.viz.brackets import BracketDiagram
from strukt.viz.curves import Curves
from strukt.viz.diagram import Diagram
from strukt.viz.graph import Graph
from strukt.viz.heat_map import HeatMap

Picture = Diagram | BracketDiagram | HeatMap | Graph | Curves
"""What can be drawn."""

STYLE = Path(__file__).with_name("picture.css").read_text(encoding="utf-8")
"""The style sheet that goes with every picture."""

_DRAWERS: Mapping[type, Callable[..., str]] = {
    Diagram: svg_arcs.draw,
    BracketDiagram: svg_brackets.draw,
    HeatMap: svg_heat_map.draw,
    Graph: svg_graph.draw,
    Curves: svg_curves.draw,
}


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


def document(picture: Picture) -> str:
    """A file that is a picture by itself: what `draw` gives, with its style sheet inside.

    Args:
        picture: What is to be seen.

    Raises:
        TypeError: As `draw`.

    Examples:
        >>> document(Diagram(["Dogs"], ["NOUN"])).count("<style>")
        1
    """
    element, rest = draw(picture).split(">", 1)
    return f"{element}>\n<style>\n{STYLE}</style>{rest}\n"
