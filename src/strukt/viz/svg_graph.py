"""Graphs as SVG: nodes on a circle, edges as arrows that bend towards its middle."""

from __future__ import annotations

import math
from collections.abc import Iterator

from strukt.viz.graph import Edge, Graph
from strukt.viz.svg_elements import FORM, SMALL, faint, opening, text, text_width

_MARGIN, _TITLE, _NODE, _GAP, _LOOP, _TIP = 14.0, 26.0, 5.0, 30.0, 9.0, 7.0

_BEND = 0.35
"""How far an edge is drawn to the middle of the circle: the two ways between two nodes lie side by side."""

Point = tuple[float, float]


def draw(graph: Graph) -> str:
    """The picture for `strukt.viz.svg.draw`."""
    return "\n".join(_elements(graph))


def _elements(graph: Graph) -> Iterator[str]:
    radius = max(70.0, _GAP * len(graph.names) / math.tau * 1.6)
    side = max((text_width(name, SMALL) for name in graph.names), default=0.0) + 4 * _LOOP
    width = max(2 * (_MARGIN + side + radius), text_width(graph.title, FORM) + 2 * _MARGIN)
    centre = width / 2, 2 * _MARGIN + _TITLE + 3 * _LOOP + radius
    yield opening(graph.description(), width, centre[1] + radius + 3 * _LOOP + _MARGIN)
    yield text(width / 2, _MARGIN + 14, "title", graph.title)
    for edge in graph.edges():
        yield from _edge(edge, len(graph.names), centre, radius)
    for node, name in enumerate(graph.names):
        x, y = _place(node, len(graph.names), centre, radius)
        yield f'<circle class="tip" cx="{x:.1f}" cy="{y:.1f}" r="{_NODE:.1f}"/>'
        away = _place(node, len(graph.names), (0.0, 0.0), 1.0)
        aside = text_width(name, SMALL) / 2 + 3 * _LOOP
        yield text(x + away[0] * aside, y + away[1] * 3 * _LOOP + 4, "label", name)
    yield "</svg>"


def _edge(edge: Edge, nodes: int, centre: Point, radius: float) -> Iterator[str]:
    lightness = faint(edge.weight)
    start = _place(edge.source, nodes, centre, radius)
    if edge.source == edge.target:
        x, y = _place(edge.source, nodes, centre, radius + _LOOP)
        yield f'<circle class="arc" cx="{x:.1f}" cy="{y:.1f}" r="{_LOOP:.1f}"{lightness}/>'
        return
    end = _place(edge.target, nodes, centre, radius)
    across = end[0] - start[0], end[1] - start[1]
    middle = (
        (start[0] + end[0]) / 2 * (1 - _BEND) + centre[0] * _BEND - 0.12 * across[1],
        (start[1] + end[1]) / 2 * (1 - _BEND) + centre[1] * _BEND + 0.12 * across[0],
    )
    path = f"M {start[0]:.1f} {start[1]:.1f} Q {middle[0]:.1f} {middle[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    yield f'<path class="arc" d="{path}"{lightness}/>'
    angle = math.atan2(end[1] - middle[1], end[0] - middle[0])
    yield f'<path class="tip" d="{_tip(end, angle)}"{lightness}/>'


def _tip(end: Point, angle: float) -> str:
    """A triangle that points to a node and ends at its border."""
    corners = [
        (end[0] - back * math.cos(angle + turn), end[1] - back * math.sin(angle + turn))
        for back, turn in ((_NODE, 0.0), (_NODE + _TIP, 0.3), (_NODE + _TIP, -0.3))
    ]
    return "M " + " L ".join(f"{x:.1f} {y:.1f}" for x, y in corners) + " Z"


def _place(node: int, nodes: int, centre: Point, radius: float) -> Point:
    """Clockwise, from the top."""
    angle = math.tau * node / max(nodes, 1) - math.pi / 2
    return centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)
