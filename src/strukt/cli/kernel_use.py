"""Calls that together run every CPU kernel, on small inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

from strukt import HMM, FactorGraph
from strukt.data.brown import brown_clusters
from strukt.factor_graph import factors
from strukt.kernels import near
from strukt.kernels.buckets import Buckets
from strukt.structures.hmm import few_rows

Call = Callable[[], object]

ROUNDS = 50
"""Maximum number of iterations of ADMM for each graph. With the default, a graph in which no assignment satisfies
all factors would take 10,000."""


def _gradient(structure: Any, value: Tensor) -> object:
    """Differentiate the sum of a value of a structure by its first score tensor."""
    return torch.autograd.grad(value.sum(), structure.scores[0], allow_unused=True, retain_graph=True)


def of_structure(structure: Any) -> Iterator[Call]:
    """Yield calls that compute the operators of a distribution and their derivatives."""
    yield lambda: _gradient(structure, structure.log_partition)
    yield lambda: _gradient(structure, structure.marginals.square())
    yield lambda: _gradient(structure, structure.max_score)
    yield lambda: _gradient(structure, structure.entropy())
    yield lambda: _gradient(structure, structure.topk(3)[0])
    yield lambda: _gradient(structure, structure.log_prob(structure.mode))
    yield lambda: _gradient(structure, structure.max_marginals)
    yield lambda: structure.log_count
    yield lambda: structure.sample((2,))
    yield lambda: _gradient(structure, structure.sparsemap().marginals.square())
    yield lambda: structure.sample_without_replacement(2)


def of_mapping(mapped: tuple[Tensor, Tensor]) -> Iterator[Call]:
    """Yield a call that computes the derivative of a mapping.

    Args:
        mapped: The argument and the value of the mapping.
    """
    x, value = mapped
    yield lambda: torch.autograd.grad(value.square().sum(), x)


def _hidden_markov_model(dtype: torch.dtype) -> None:
    """Run the kernels of hidden Markov models."""
    few_rows.product(torch.ones(2, 256, dtype=dtype), torch.ones(256, 256, dtype=dtype).mT)
    initial, transition, emission = (torch.zeros(shape, dtype=dtype) for shape in ((3,), (3, 3), (3, 5)))
    model = HMM(initial.requires_grad_(), transition, emission)
    words = torch.tensor([[0, 1, 2, 3]])
    torch.autograd.grad(model.log_prob(words).sum(), initial)
    model.viterbi(words)
    model.posterior(words).sample((2,))


def _factor_graph(dtype: torch.dtype) -> None:
    """Run the kernels of factor graphs: on single factors, on trees and on tags."""
    graph = FactorGraph()
    x = graph.variables(3, 4)
    for factor in (factors.Xor, factors.Or, factors.AtMostOne, factors.Imply, factors.And, factors.OrOut,
                   factors.XorOut, partial(factors.Budget, budget=2)):  # fmt: skip
        graph.add(factor(x[0]))
    graph.add(factors.RelaxedKnapsack(x[1], torch.ones(4, dtype=dtype), 3.0))
    graph.add(factors.Pairwise(x[1, 0], x[2, 0], torch.ones((), dtype=dtype)))
    graph.add(factors.Dense(x[2, :2], torch.zeros(2, 2, dtype=dtype)))
    trees = FactorGraph()
    arcs = trees.variables(3, 4)
    trees.add(factors.Tree(arcs))
    trees.add(factors.Budget(arcs[:, 1], 1))
    tags = FactorGraph()
    y = tags.variables(3, 4)
    tags.add(factors.Chain(y, torch.zeros(4, 4, dtype=dtype)))
    tags.add(factors.Budget(y[:, 1], 1))
    for each in (graph, trees, tags):
        _relaxed(each, torch.linspace(-1, 1, 12, dtype=dtype).reshape(3, 4))


def _relaxed(graph: FactorGraph, scores: Tensor) -> None:
    """Compute LP-SparseMAP, its derivative and LP-MAP of a factor graph."""
    scores = scores.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence does not matter here
        marginals = cast("Tensor", graph.lp_sparsemap(scores, max_iterations=ROUNDS).marginals)
        torch.autograd.grad(marginals.square().sum(), scores)
        graph.lp_map(scores.detach(), max_iterations=ROUNDS)


def _near_pairs(dtype: torch.dtype) -> None:
    """Run the kernels for scores of pairs of near positions, which depend on the distance between the two."""
    left, right = (torch.ones(1, 3, 1, 2, 2, dtype=dtype, requires_grad=True) for _ in range(2))
    weights = torch.ones(2, 2, 2, dtype=dtype, requires_grad=True)
    band = near.scores(left, right, weights, Buckets(1, shared=False))
    torch.autograd.grad(band.sum(), (left, right, weights))


def _brown_clusters(_: torch.dtype) -> None:
    """Run the kernels of Brown clusters, which have no dtype to choose."""
    brown_clusters([[0, 1, 2, 0]], words=3, clusters=2)


OTHERS: Mapping[str, Callable[[torch.dtype], None]] = {
    "HMM": _hidden_markov_model,
    "FactorGraph": _factor_graph,
    "layers with distances": _near_pairs,
    "Brown clusters": _brown_clusters,
}
"""Functions by name, each of which runs, in a given dtype, kernels that `self_check` does not use."""
