"""How strongly things speak for and against each other, and a spanning tree among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from strukt.shown import Shown
from strukt.viz.wording import sentences, told_apart

MOST = 3
"""Edges of a node in a picture, at most, besides those of the tree and what other nodes bring."""

LEAST = 0.02
"""Edges of less than this share of the strongest one are left out, unless they are in the tree."""


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
                    raise ValueError(
                        f"weights: got {weight} and {other} between {pair}, expected one finite number"
                    )
        if self.tree and not _spans(self.tree, n):
            raise ValueError(f"tree: got the edges {list(self.tree)}, expected those of a tree of {n} nodes")

    def edges(self) -> list[Interaction]:
        """The edges of the tree and the strongest ones of each node, the strongest first."""
        tree = {(min(edge), max(edge)) for edge in self.tree}
        strengths = self._strengths()
        strongest = max(map(abs, strengths.values()), default=0.0)
        chosen = set(tree)
        for node in range(len(self.names)):
            mine = sorted(
                (edge for edge in strengths if node in edge), key=lambda edge: -abs(strengths[edge])
            )
            chosen |= {edge for edge in mine[:MOST] if abs(strengths[edge]) > LEAST * strongest}
        found = [Interaction(*edge, strengths[edge], edge in tree) for edge in chosen]
        return sorted(found, key=lambda edge: (-abs(edge.weight), edge.first, edge.second))

    def share(self, edge: Interaction) -> float:
        """How strong an edge is, as a share of the strongest one."""
        return abs(edge.weight) / (max(map(abs, self._strengths().values()), default=0.0) or 1.0)

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

    def _strengths(self) -> dict[tuple[int, int], float]:
        return {
            (first, second): self.weights[first][second]
            for second in range(len(self.names))
            for first in range(second)
        }


def _spans(tree: Sequence[tuple[int, int]], n: int) -> bool:
    """Whether edges join n nodes without a cycle."""
    if len(tree) != n - 1 or not all(0 <= node < n for edge in tree for node in edge):
        return False
    parts = list(range(n))  # the part that each node is in
    for first, second in tree:
        old, new = parts[first], parts[second]
        parts = [new if part == old else part for part in parts]
    return len(set(parts)) == 1
