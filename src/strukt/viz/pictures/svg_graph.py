"""Graphs as SVG: nodes on a circle, edges as arrows that bend towards its middle."""

from __future__ import annotations

import math
from collections.abc import Iterator

from strukt.viz.canvas.circle import LOOP, NODE, Circle, Point
from strukt.viz.canvas.svg import faint, opening
from strukt.viz.pictures.graph import Edge, Graph

_TIP = 7.0

_BEND = 0.35
"""How far an edge is drawn to the middle of the circle: the two ways between two nodes lie side by side."""


def draw(graph: Graph) -> str:
    """The picture for `strukt.viz.svg.draw`."""
    return "\n".join(_elements(graph))


def _elements(graph: Graph) -> Iterator[str]:
    circle = Circle(graph.title, graph.names)
    yield opening(graph.title, graph.description(), circle.width, circle.height)
    yield circle.heading()
    for edge in graph.edges():
        yield from _edge(edge, circle)
    yield from circle.nodes()
    yield "</svg>"


def _edge(edge: Edge, circle: Circle) -> Iterator[str]:
    lightness = faint(edge.weight)
    start = circle.place(edge.source)
    if edge.source == edge.target:
        x, y = circle.place(edge.source, LOOP)
        yield f'<circle class="arc" cx="{x:.1f}" cy="{y:.1f}" r="{LOOP:.1f}"{lightness}/>'
        return
    end = circle.place(edge.target)
    across = end[0] - start[0], end[1] - start[1]
    middle = (
        (start[0] + end[0]) / 2 * (1 - _BEND) + circle.centre[0] * _BEND - 0.12 * across[1],
        (start[1] + end[1]) / 2 * (1 - _BEND) + circle.centre[1] * _BEND + 0.12 * across[0],
    )
    path = f"M {start[0]:.1f} {start[1]:.1f} Q {middle[0]:.1f} {middle[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    yield f'<path class="arc" d="{path}"{lightness}/>'
    angle = math.atan2(end[1] - middle[1], end[0] - middle[0])
    yield f'<path class="tip" d="{_tip(end, angle)}"{lightness}/>'


def _tip(end: Point, angle: float) -> str:
    """A triangle that points to a node and ends at its border."""
    corners = [
        (end[0] - back * math.cos(angle + turn), end[1] - back * math.sin(angle + turn))
        for back, turn in ((NODE, 0.0), (NODE + _TIP, 0.3), (NODE + _TIP, -0.3))
    ]
    return "M " + " L ".join(f"{x:.1f} {y:.1f}" for x, y in corners) + " Z"
