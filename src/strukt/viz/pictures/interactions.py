"""Undirected graphs of interactions, positive and negative, with a spanning tree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from strukt.errors import OutOfRangeError
from strukt.viz.canvas.circle import Circle
from strukt.viz.canvas.edge_list import Line, edge_list
from strukt.viz.canvas.svg import SMALL, opacity, opening, text, text_width
from strukt.viz.canvas.terminal import Palette
from strukt.viz.canvas.wording import fixed, made_distinct, sentences
from strukt.viz.pictures.base import Picture

MOST = 3
"""The number of strongest edges of each node that are drawn, in addition to those of the tree."""

LEAST = 0.02
"""The smallest share of the strongest edge that an edge needs to be drawn, if it is not in the tree."""

Spanning = Literal["minimum", "maximum", "absolute"]
"""The objective of a spanning tree: the least sum of weights, the largest, or the largest of absolute weights."""


class Interaction(NamedTuple):
    """An edge between two nodes, which are counted from 0.

    Attributes:
        first: The node with the smaller number.
        second: The node with the larger number.
        weight: The weight of the edge.
        in_tree: Whether the edge is in the spanning tree.

    Examples:
        >>> from strukt.viz import Interactions
        >>> Interactions("words", ["a", "b"], [[0, 3], [3, 0]], [(0, 1)]).edges()
        [Interaction(first=0, second=1, weight=3, in_tree=True)]
    """

    first: int
    second: int
    weight: float
    in_tree: bool


@dataclass(frozen=True)
class Interactions(Picture):
    """An undirected graph with weights, such as scores of pairs of words, and an optional spanning tree.

    Args:
        title: The title, which says what the weights are.
        names: The names of the n nodes.
        weights: ``n`` rows of ``n``, symmetric: positive if two nodes support each other, negative if they
            oppose each other. The diagonal is ignored.
        tree: The edges of a spanning tree as pairs of nodes; empty for none.

    Raises:
        ValueError: If the weights are not n rows of n, finite and symmetric, or `tree` is not a spanning tree.

    Examples:
        >>> graph = Interactions("words", ["a", "b", "c"], [[0, 3, -1], [3, 0, 2], [-1, 2, 0]], [(0, 1), (2, 1)])
        >>> graph.edges()[0]
        Interaction(first=0, second=1, weight=3, in_tree=True)
        >>> graph.description()
        'words. Spanning tree: a – b 3.00, b – c 2.00. Other edges: a – c -1.00.'
    """

    title: str
    names: Sequence[str]
    weights: Sequence[Sequence[float]]
    tree: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        n = len(self.names)
        if len(self.weights) != n or any(len(row) != n for row in self.weights):
            raise ValueError(f"weights does not have {n} rows of {n}; expected a row and a column for each name")
        for first in range(n):
            for second in range(first):
                weight, other = self.weights[first][second], self.weights[second][first]
                if not (math.isfinite(weight) and math.isclose(weight, other, rel_tol=1e-4, abs_tol=1e-4)):
                    pair = f"{self.names[first]!r} and {self.names[second]!r}"
                    raise OutOfRangeError(
                        f"weights has {weight} and {other} between {pair}; expected the same finite number"
                    )
        if self.tree and not _spans(self.tree, n):
            raise ValueError(f"tree has the edges {list(self.tree)}; expected those of a tree of {n} nodes")

    def edges(self) -> list[Interaction]:
        """Return the edges of the tree and the strongest edges of each node, the strongest first.

        Edges outside the tree are among the `MOST` (3) strongest of a node, and their absolute weight is more than
        `LEAST` (0.02) times the largest.

        Complexity:
            O(n^2 log n).
        """
        tree = {(min(edge), max(edge)) for edge in self.tree}
        chosen = set(tree)
        for node, row in enumerate(self.weights):
            others = sorted(self._others(node), key=lambda other: -abs(row[other]))
            chosen |= {
                (min(node, other), max(node, other))
                for other in others[:MOST]
                if abs(row[other]) > LEAST * self.strongest
            }
        result = [Interaction(*edge, self.weights[edge[0]][edge[1]], edge in tree) for edge in chosen]
        return sorted(result, key=lambda edge: (-abs(edge.weight), edge.first, edge.second))

    def share(self, edge: Interaction) -> float:
        """Return the absolute weight of an edge as a share of the largest one."""
        return abs(edge.weight) / (self.strongest or 1.0)

    @cached_property
    def strongest(self) -> float:
        """The largest absolute weight."""
        sizes = (abs(row[other]) for node, row in enumerate(self.weights) for other in self._others(node))
        return max(sizes, default=0.0)

    def _others(self, node: int) -> Iterator[int]:
        return (other for other in range(len(self.names)) if other != node)

    def description(self) -> str:
        """Describe the edges in words, for screen readers."""
        names, edges = made_distinct(self.names), self.edges()
        texts = {
            in_tree: ", ".join(
                f"{names[edge.first]} – {names[edge.second]} {fixed(edge.weight, 2)}"
                for edge in edges
                if edge.in_tree == in_tree
            )
            for in_tree in (True, False)
        }
        tree, others = texts[True], texts[False]
        return sentences(
            self.title,
            tree and f"Spanning tree: {tree}",
            others and f"{'Other edges' if tree else 'Edges'}: {others}",
        )


def _spans(tree: Sequence[tuple[int, int]], n: int) -> bool:
    """Return True if the edges join n nodes without a cycle."""
    if len(tree) != n - 1 or not all(0 <= node < n for edge in tree for node in edge):
        return False
    parts = list(range(n))  # the connected component of each node
    for first, second in tree:
        old, new = parts[first], parts[second]
        parts = [new if part == old else part for part in parts]
    return len(set(parts)) == 1


def svg(graph: Interactions) -> str:
    """Draw nodes on a circle and lines between them: dashed if negative, heavy and numbered in the tree."""
    return "\n".join(_elements(graph))


def _elements(graph: Interactions) -> Iterator[str]:
    """Draw the picture, element by element."""
    circle = Circle(graph.title, graph.names)
    yield opening(graph.title, graph.description(), circle.width, circle.height)
    yield circle.heading()
    edges = graph.edges()
    for edge in sorted(edges, key=lambda edge: edge.in_tree):  # the tree covers the others
        yield _line(edge, circle, graph.share(edge))
    for edge in edges:
        if edge.in_tree:
            yield from _number(edge, circle)
    yield from circle.nodes()
    yield "</svg>"


def _line(edge: Interaction, circle: Circle, share: float) -> str:
    """Draw the line of an edge: heavy in the tree, and dashed for a negative weight."""
    (x1, y1), (x2, y2) = circle.place(edge.first), circle.place(edge.second)
    role = "tree" if edge.in_tree else "arc"
    dashes = ' stroke-dasharray="5 4"' if edge.weight < 0 else ""
    lightness = "" if edge.in_tree else opacity(share)
    return f'<path class="{role}" d="M{x1:.1f} {y1:.1f} L{x2:.1f} {y2:.1f}"{dashes}{lightness}/>'


def _number(edge: Interaction, circle: Circle) -> Iterator[str]:
    """Draw the weight in the middle of its line."""
    (x1, y1), (x2, y2) = circle.place(edge.first), circle.place(edge.second)
    x, y, number = (x1 + x2) / 2, (y1 + y2) / 2, fixed(edge.weight, 2)
    width = text_width(number, SMALL) + 4
    yield f'<rect class="gap" x="{x - width / 2:.1f}" y="{y - 7:.1f}" width="{width:.1f}" height="14"/>'
    yield text(x, y + 4, "number", number)


def terminal(graph: Interactions, width: int, palette: Palette) -> str:
    """List the edges with bars, the strongest first; edges of the tree are heavy lines.

    Examples:
        >>> graph = Interactions("words", ["a", "b", "c"], [[0, 3, -1], [3, 0, 2], [-1, 2, 0]], [(0, 1), (1, 2)])
        >>> print(terminal(graph, 20, {}))
        words (━ in the spanning tree)
        <BLANKLINE>
        a ━ b   3.00  ██████
        b ━ c   2.00  ████
        a ─ c  -1.00  ██
    """
    names = made_distinct(graph.names)
    lines = [
        Line(
            names[edge.first],
            "━" if edge.in_tree else "─",
            names[edge.second],
            fixed(edge.weight, 2),
            graph.share(edge),
        )
        for edge in graph.edges()
    ]
    title = f"{graph.title} (━ in the spanning tree)" if graph.tree else graph.title
    return edge_list(title, lines, width, palette)
