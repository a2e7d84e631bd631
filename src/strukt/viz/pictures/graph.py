"""Things and how strongly each leads to others, such as hidden states and their transitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from strukt.errors import OutOfRangeError
from strukt.shown import Shown

MOST = 3
"""Edges that leave a node in a picture, at most."""

LEAST = 0.02
"""Weaker edges are left out."""


class Edge(NamedTuple):
    """From one node to another, or to itself; nodes are counted from 0."""

    source: int
    target: int
    weight: float


@dataclass(frozen=True)
class Graph(Shown):
    """A directed graph with weights.

    Args:
        title: What the weights are.
        names: The names of the nodes.
        weights: How strongly each leads to each, between 0 and 1: a row for each source.

    Raises:
        ValueError: If there is not one weight from each node to each, or one is not between 0 and 1.

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
            raise ValueError(f"weights: expected {expected} rows of {expected}, one for each of the names")
        for name, row in zip(self.names, self.weights, strict=True):
            for value in row:
                if not (math.isfinite(value) and 0 <= value <= 1):
                    raise OutOfRangeError(f"weights: got {value} in row {name!r}, expected between 0 and 1")

    def edges(self) -> list[Edge]:
        """The strongest edges of each node, node by node, the strongest first."""
        found = []
        for source, row in enumerate(self.weights):
            order = sorted(range(len(row)), key=lambda target: -row[target])[:MOST]
            found += [Edge(source, target, row[target]) for target in order if row[target] >= LEAST]
        return found

    def description(self) -> str:
        """The edges in words, for those who do not see them."""
        said = [
            f"{self.names[edge.source]} → {self.names[edge.target]} {edge.weight:.2f}"
            for edge in self.edges()
        ]
        return f"{self.title}: {', '.join(said)}"
