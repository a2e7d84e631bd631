"""Graphs in a terminal: their edges, each with a bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from strukt.viz.canvas.blocks import bar
from strukt.viz.canvas.terminal import Palette, paint
from strukt.viz.canvas.width import clip, display_width, pad, pad_left, printable
from strukt.viz.canvas.wording import told_apart
from strukt.viz.pictures.graph import Graph
from strukt.viz.pictures.interactions import Interactions

_BAR = 30


class _Line(NamedTuple):
    """An edge: its nodes, the mark between them, its weight, and its share of the whole bar."""

    source: str
    mark: str
    target: str
    weight: str
    share: float


def draw(graph: Graph, width: int, palette: Palette) -> str:
    """The picture for `strukt.viz.terminal.draw`: the strongest edges of each node.

    Examples:
        >>> print(draw(Graph("Weather", ["sun", "rain"], [[0.9, 0.1], [0.5, 0.5]]), 27, {}))
        Weather
        <BLANKLINE>
         sun → sun   0.90  ███████▎
         sun → rain  0.10  ▊
        rain → sun   0.50  ████
        rain → rain  0.50  ████
    """
    lines = [
        _Line(graph.names[edge.source], "→", graph.names[edge.target], f"{edge.weight:.2f}", edge.weight)
        for edge in graph.edges()
    ]
    return _listed(graph.title, lines, width, palette)


def draw_interactions(graph: Interactions, width: int, palette: Palette) -> str:
    """The same of interactions, the strongest first: the edges of the tree are heavy lines.

    Examples:
        >>> graph = Interactions("words", ["a", "b", "c"], [[0, 3, -1], [3, 0, 2], [-1, 2, 0]], [(0, 1), (1, 2)])
        >>> print(draw_interactions(graph, 20, {}))
        words (━ in the spanning tree)
        <BLANKLINE>
        a ━ b   3.00  ██████
        b ━ c   2.00  ████
        a ─ c  -1.00  ██
    """
    names = told_apart(graph.names)
    lines = [
        _Line(
            names[edge.first],
            "━" if edge.in_tree else "─",
            names[edge.second],
            f"{edge.weight:.2f}",
            graph.share(edge),
        )
        for edge in graph.edges()
    ]
    title = f"{graph.title} (━ in the spanning tree)" if graph.tree else graph.title
    return _listed(title, lines, width, palette)


def _listed(title: str, edges: Sequence[_Line], width: int, palette: Palette) -> str:
    clipped = [
        edge._replace(source=clip(edge.source, width // 3), target=clip(edge.target, width // 3))
        for edge in edges
    ]
    source = max((display_width(edge.source) for edge in clipped), default=0)
    target = max((display_width(edge.target) for edge in clipped), default=0)
    number = max((len(edge.weight) for edge in clipped), default=0)
    room = min(_BAR, width - source - target - number - 7)
    code = palette.get("label", "")
    lines = [printable(title), ""]
    for edge in clipped:
        nodes = f"{pad_left(edge.source, source)} {edge.mark} {pad(edge.target, target)}"
        drawn = paint(bar(edge.share, max(room, 0)), code)
        lines.append(f"{nodes}  {edge.weight:>{number}}  {drawn}".rstrip())
    return "\n".join(lines)
