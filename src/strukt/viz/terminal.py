"""Everything that can be drawn, with box and block characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from strukt.viz.canvas.terminal import PLAIN, Palette
from strukt.viz.pictures import (
    terminal_curves,
    terminal_graph,
    terminal_heat_map,
    terminal_lattice,
    terminal_weighted,
)
from strukt.viz.pictures.arcs import terminal as terminal_arcs
from strukt.viz.pictures.arcs.picture import Diagram
from strukt.viz.pictures.brackets import terminal as terminal_brackets
from strukt.viz.pictures.brackets.picture import BracketDiagram
from strukt.viz.pictures.curves import Curves
from strukt.viz.pictures.graph import Graph
from strukt.viz.pictures.heat_map import HeatMap
from strukt.viz.pictures.interactions import Interactions
from strukt.viz.pictures.lattice import Lattice
from strukt.viz.pictures.weighted import WeightedStructures
from strukt.viz.svg import Picture


def _weighted(found: WeightedStructures, width: int, palette: Palette) -> str:
    pictures = [draw(picture, width, palette) for picture in found.pictures]
    return terminal_weighted.draw(found, pictures, width, palette)


_DRAWERS: Mapping[type, Callable[..., str]] = {
    Diagram: terminal_arcs.draw,
    BracketDiagram: terminal_brackets.draw,
    HeatMap: terminal_heat_map.draw,
    Graph: terminal_graph.draw,
    Interactions: terminal_graph.draw_interactions,
    Curves: terminal_curves.draw,
    Lattice: terminal_lattice.draw,
    WeightedStructures: _weighted,
}


def draw(diagram: Picture, width: int = 80, palette: Palette = PLAIN) -> str:
    """A picture that fits a terminal.

    Dependency trees that are wider than the terminal are drawn with one word a line, constituency trees with one
    constituent a line; tagged words and the columns of tables are folded. Of graphs the edges are listed.

    Args:
        diagram: What is to be seen.
        width: The columns of the terminal.
        palette: Terminal codes per role, `canvas.PLAIN` or `canvas.COLOURED`.

    Returns:
        Lines without a newline at the end; empty for a sentence without words.

    Raises:
        TypeError: If there is no drawing of such a thing.

    Examples:
        >>> print(draw(Diagram(["Dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"])))
               root
         ╭nsubj╮│
         ▼     │▼
        Dogs   bark
        NOUN   VERB
    """
    drawer = _DRAWERS.get(type(diagram))
    if drawer is None:
        names = " or ".join(kind.__name__ for kind in _DRAWERS)
        raise TypeError(f"diagram: got a {type(diagram).__name__}, expected a {names}")
    return drawer(diagram, width, palette)
