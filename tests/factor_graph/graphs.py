"""Small graphs and scores that several tests use."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import Tensor

from strukt import FactorGraph
from strukt.factor_graph import factors


def every(size: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=size))


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(shape, generator=generator, dtype=torch.float64)


def permitted(graph: FactorGraph) -> set[tuple[int, ...]]:
    """The assignments that a graph permits."""
    count = sum(graph.arrays.sizes)
    scores = tuple(torch.zeros(shape, dtype=torch.float64) for shape in graph.arrays.shapes)
    found = graph.enumerate(scores)
    assert found.assignments.shape[1] == count
    return set(map(tuple, found.assignments[found.scores > -torch.inf].tolist()))


def logic_tree() -> FactorGraph:
    """Every closed form in a graph without cycles; 12 variables."""
    graph = FactorGraph()
    x = graph.variables(12)
    graph.add(factors.Xor(x[:3]))
    graph.add(factors.AtMostOne(~x[2:5]))
    graph.add(factors.Or([x[4], ~x[5]]))
    graph.add(factors.OrOut(x[[5, 6]], ~x[7]))
    graph.add(factors.And(x[[7, 8]], x[9]))
    graph.add(factors.Imply(x[9], x[10]))
    graph.add(factors.Knapsack(x[[10, 11]], [2, 1], 2))
    return graph


def scored_tree() -> FactorGraph:
    """Factors with scores of their own, and structures, in a graph without cycles; 15 variables in two arrays."""
    graph = FactorGraph()
    tags, rest = graph.variables(3, 2), graph.variables(9)
    graph.add(factors.Chain(tags, draw(2, 2, seed=1)))
    graph.add(factors.Pairwise(tags[0, 0], ~rest[0], draw(seed=2)))
    graph.add(factors.Dense([tags[1, 1], rest[1], ~rest[2]], draw(2, 2, 2, seed=3)))
    graph.add(factors.Matching([[rest[2], rest[3], rest[4]]]))
    graph.add(factors.Tree([[rest[4], rest[5], rest[6]], [rest[7], rest[8], tags[2, 0]]]))
    return graph


def grid(rows: int, columns: int, scale: float = 1.0, seed: int = 0) -> tuple[FactorGraph, Tensor]:
    """Pairs of neighbours, as a graph and as the matrix of a `BinaryCRF`."""
    graph = FactorGraph()
    x = graph.variables(rows, columns)
    across, down = (
        draw(rows, columns - 1, seed=seed, scale=scale),
        draw(rows - 1, columns, seed=seed + 1, scale=scale),
    )
    graph.add(factors.Pairwise(x[:, :-1], x[:, 1:], across))
    graph.add(factors.Pairwise(x[:-1], x[1:], down))
    pairwise = torch.zeros(rows * columns, rows * columns, dtype=torch.float64)
    index = np.arange(rows * columns).reshape(rows, columns)
    pairwise[index[:, :-1].ravel(), index[:, 1:].ravel()] = across.flatten()
    pairwise[index[:-1].ravel(), index[1:].ravel()] = down.flatten()
    return graph, pairwise + pairwise.mT
