"""Directed graphs with weights, such as hidden states and their transitions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from strukt.errors import OutOfRangeError
from strukt.viz.canvas.circle import LOOP, NODE, Circle, Point
from strukt.viz.canvas.edge_list import Line, edge_list
from strukt.viz.canvas.svg import opacity, opening
from strukt.viz.canvas.terminal import Palette
from strukt.viz.canvas.wording import fixed
from strukt.viz.pictures.base import Picture

MOST = 3
"""The largest number of drawn edges that leave a node."""

LEAST = 0.02
"""The smallest weight of a drawn edge."""

_TIP = 7.0

_BEND = 0.35
"""The share of the way to the centre by which the middle of an edge is moved."""


class Edge(NamedTuple):
    """An edge from the node `source` to the node `target`, or to itself; nodes are counted from 0.

    Attributes:
        source: The node that the edge leaves.
        target: The node that it enters.
        weight: The weight of the edge, from 0 to 1.

    Examples:
        >>> from strukt.viz import Graph
        >>> Graph("Weather", ["sun", "rain"], [[0.9, 0.1], [0.5, 0.5]]).edges()[1]
        Edge(source=0, target=1, weight=0.1)
    """

    source: int
    target: int
    weight: float


@dataclass(frozen=True)
class Graph(Picture):
    """A directed graph with weights, such as the transition probabilities of hidden states.

    Args:
        title: The title, which says what the weights are.
        names: The names of the n nodes.
        weights: ``n`` rows of ``n`` weights in [0, 1]: a row for each source, a column for each target.

    Raises:
        ValueError: If there is not one weight from each node to each node, or a weight is not between 0 and 1.

    Examples:
        >>> Graph("Weather", ["sun", "rain"], [[0.9, 0.1], [0.5, 0.5]]).description()
        'Weather: sun → sun 0.90, sun → rain 0.10, rain → sun 0.50, rain → rain 0.50'
    """

    title: str
    names: Sequence[str]
    weights: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        expected = len(self.names)
        if len(self.weights) != expected or any(len(row) != expected for row in self.weights):
            raise ValueError(
                f"weights does not have {expected} rows of {expected}; expected a row and a column for each name"
            )
        for name, row in zip(self.names, self.weights, strict=True):
            for value in row:
                if not (math.isfinite(value) and 0 <= value <= 1):
                    raise OutOfRangeError(f"weights has {value} in row {name!r}; expected 0 to 1")

    def edges(self) -> list[Edge]:
        """Return the strongest edges that leave each node, node by node, the strongest first.

        There are at most `MOST` (3) for each node, all with a weight of at least `LEAST` (0.02).
        """
        result = []
        for source, row in enumerate(self.weights):
            order = sorted(range(len(row)), key=lambda target: -row[target])[:MOST]
            result += [Edge(source, target, row[target]) for target in order if row[target] >= LEAST]
        return result

    def description(self) -> str:
        """Describe the edges in words, for screen readers."""
        edges = [
            f"{self.names[edge.source]} → {self.names[edge.target]} {fixed(edge.weight, 2)}"
            for edge in self.edges()
        ]
        return f"{self.title}: {', '.join(edges)}"


def svg(graph: Graph) -> str:
    """Draw nodes on a circle, and edges as arrows that bend towards its centre."""
    return "\n".join(_elements(graph))


def _elements(graph: Graph) -> Iterator[str]:
    """Draw the picture, element by element."""
    circle = Circle(graph.title, graph.names)
    yield opening(graph.title, graph.description(), circle.width, circle.height)
    yield circle.heading()
    for edge in graph.edges():
        yield from _edge(edge, circle)
    yield from circle.nodes()
    yield "</svg>"


def _edge(edge: Edge, circle: Circle) -> Iterator[str]:
    """Draw an edge as an arrow, or as a circle if it leads from a node to itself."""
    lightness = opacity(edge.weight)
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
    """Return a triangle that points to a node and ends at its border."""
    corners = [
        (end[0] - back * math.cos(angle + turn), end[1] - back * math.sin(angle + turn))
        for back, turn in ((NODE, 0.0), (NODE + _TIP, 0.3), (NODE + _TIP, -0.3))
    ]
    return "M " + " L ".join(f"{x:.1f} {y:.1f}" for x, y in corners) + " Z"


def terminal(graph: Graph, width: int, palette: Palette) -> str:
    """List the strongest edges of each node with bars.

    Examples:
        >>> print(terminal(Graph("Weather", ["sun", "rain"], [[0.9, 0.1], [0.5, 0.5]]), 27, {}))
        Weather
        <BLANKLINE>
         sun → sun   0.90  ███████▎
         sun → rain  0.10  ▊
        rain → sun   0.50  ████
        rain → rain  0.50  ████
    """
    lines = [
        Line(graph.names[edge.source], "→", graph.names[edge.target], fixed(edge.weight, 2), edge.weight)
        for edge in graph.edges()
    ]
    return edge_list(graph.title, lines, width, palette)
