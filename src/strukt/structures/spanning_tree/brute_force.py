"""Brute-force enumeration of spanning trees."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from strukt.structures.enumeration import Table


def spanning_tree(length: int, edges: Tensor) -> Table:
    """Return all undirected trees that connect the first ``length`` vertices.

    Args:
        length: The number of vertices in use.
        edges: ``(n, n)``; ``[i, j]`` with i < j scores the edge between i and j.
    """
    n = len(edges)
    pairs = list(itertools.combinations(range(length), 2))
    chosen = itertools.combinations(pairs, max(length - 1, 0))
    trees = [tree for tree in chosen if _connected(length, tree)]
    events = torch.full((len(trees), n, n), -1, dtype=torch.long)
    for i, j in pairs:
        events[:, i, j] = torch.tensor([(i, j) in tree for tree in trees], dtype=torch.long)
    ends = torch.tensor(trees, dtype=torch.long).reshape(len(trees), max(length - 1, 0), 2)
    scores = edges.double()[ends[..., 0], ends[..., 1]].sum(1)
    return Table(events, (events == 1).double(), scores)


def _connected(length: int, tree: tuple[tuple[int, int], ...]) -> bool:
    """Return True if the edges connect all vertices."""
    group = list(range(length))
    for i, j in tree:
        old, new = group[i], group[j]
        group = [new if each == old else each for each in group]
    return len(set(group)) <= 1
