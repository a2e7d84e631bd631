"""How strongly things speak for and against each other, and a spanning tree among them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from strukt.errors import OutOfRangeError
from strukt.shown import Shown
from strukt.viz.canvas.wording import sentences, told_apart

MOST = 3
"""Edges of a node in a picture, at most, besides those of the tree and what other nodes bring."""

LEAST = 0.02
"""Edges of less than this share of the strongest one are left out, unless they are in the tree."""

Spanning = Literal["minimum", "maximum", "absolute"]
"""A spanning tree: of the least sum of weights, the largest, or the largest of their sizes."""


class Interaction(NamedTuple):
    """An edge between two nodes, counted from 0, of which `first` is the smaller one."""

    first: int
    second: int
    weight: float
    in_tree: bool


@dataclass(frozen=True)
class Interactions(Shown):
    """An undirected graph with weights.

    Args:
        title: What the weights are.
        names: The names of the n nodes.
        weights: ``n`` rows of ``n``, symmetric: above 0 two speak for each other, below 0 against; the diagonal is
            not read.
        tree: Pairs of nodes that are the edges of a spanning tree, or none.

    Raises:
        ValueError: The weights are not finite and symmetric, or the edges are no spanning tree.

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
            raise ValueError(f"weights: expected {n} rows of {n}, one for each of the names")
        for first in range(n):
            for second in range(first):
                weight, other = self.weights[first][second], self.weights[second][first]
                if not (math.isfinite(weight) and math.isclose(weight, other, rel_tol=1e-4, abs_tol=1e-4)):
                    pair = f"{self.names[first]!r} and {self.names[second]!r}"
                    raise OutOfRangeError(
                        f"weights: got {weight} and {other} between {pair}, expected one finite number"
                    )
        if self.tree and not _spans(self.tree, n):
            raise ValueError(f"tree: got the edges {list(self.tree)}, expected those of a tree of {n} nodes")

    def edges(self) -> list[Interaction]:
        """The edges of the tree and the strongest ones of each node, the strongest first; O(n^2 log n)."""
        tree = {(min(edge), max(edge)) for edge in self.tree}
        chosen = set(tree)
        for node, row in enumerate(self.weights):
            others = sorted(self._others(node), key=lambda other: -abs(row[other]))
            chosen |= {
                (min(node, other), max(node, other))
                for other in others[:MOST]
                if abs(row[other]) > LEAST * self.strongest
            }
        found = [Interaction(*edge, self.weights[edge[0]][edge[1]], edge in tree) for edge in chosen]
        return sorted(found, key=lambda edge: (-abs(edge.weight), edge.first, edge.second))

    def share(self, edge: Interaction) -> float:
        """How strong an edge is, as a share of the strongest one."""
        return abs(edge.weight) / (self.strongest or 1.0)

    @cached_property
    def strongest(self) -> float:
        """The largest size of a weight."""
        sizes = (abs(row[other]) for node, row in enumerate(self.weights) for other in self._others(node))
        return max(sizes, default=0.0)

    def _others(self, node: int) -> Iterator[int]:
        return (other for other in range(len(self.names)) if other != node)

    def description(self) -> str:
        """The edges in words, for those who do not see them."""
        names, edges = told_apart(self.names), self.edges()
        said = {
            in_tree: ", ".join(
                f"{names[edge.first]} – {names[edge.second]} {edge.weight:.2f}"
                for edge in edges
                if edge.in_tree == in_tree
            )
            for in_tree in (True, False)
        }
        tree, others = said[True], said[False]
        return sentences(
            self.title,
            tree and f"Spanning tree: {tree}",
            others and f"{'Other edges' if tree else 'Edges'}: {others}",
        )


def _spans(tree: Sequence[tuple[int, int]], n: int) -> bool:
    """Whether edges join n nodes without a cycle."""
    if len(tree) != n - 1 or not all(0 <= node < n for edge in tree for node in edge):
        return False
    parts = list(range(n))  # the part that each node is in
    for first, second in tree:
        old, new = parts[first], parts[second]
        parts = [new if part == old else part for part in parts]
    return len(set(parts)) == 1
