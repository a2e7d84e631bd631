"""Spanning trees: the fused kernels say what the reference says, with and without required edges."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference, log_partition_and_gradient
from tests.kernels import test_backends
from tests.kernels.test_backends import CHANGES, assert_backends_agree, lengths, normal
from torch import Tensor
from torch.distributions import Distribution

from strukt.distributions import NonProjectiveTree, SpanningTree
from strukt.structures.spanning_tree import arcs, prim

pytestmark = test_backends.pytestmark


def build(n: int, change: Callable[[Tensor], Tensor]) -> tuple[Distribution, tuple[Tensor, ...]]:
    edges = change(normal(5, n, n)).requires_grad_()
    return SpanningTree(edges, lengths(n)), (edges,)


@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("n", [1, 2, 3, 9, 17])
def test_spanning_trees_of_any_size(on, poisoned_memory, n, change, tolerance):
    assert_backends_agree(on, lambda: build(n, change), tolerance)


@pytest.mark.parametrize("n", [31, 33, 65])
def test_large_spanning_trees(on, poisoned_memory, n):
    def trees(edges: Tensor) -> Distribution:
        return SpanningTree(edges, lengths(n))

    assert_kernels_answer_as_the_reference(on, lambda: log_partition_and_gradient(trees, normal(5, n, n)), 1e-10)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_required_edges(on, poisoned_memory, n):
    def conditioned() -> tuple[Distribution, tuple[Tensor, ...]]:
        trees, leaves = build(n, test_backends.unchanged)
        required = torch.zeros(5, n, n, dtype=torch.bool)
        required[:, 0, 1] = required[:, 0, n - 1] = True
        return trees.condition(required=required), leaves

    assert_backends_agree(on, conditioned, 1e-10)


@pytest.mark.parametrize("n", [1, 2, 6])
def test_edges_are_arcs_of_trees_rooted_at_vertex_zero(n):
    edges, sizes = normal(3, n, n), torch.tensor([n, max(n - 1, 0), 0])
    heads = NonProjectiveTree.oracles.best(arcs.to_arcs(edges), arcs.word_counts(sizes), False)
    events, scores = SpanningTree.oracles.best(edges, torch.zeros_like(edges), sizes)
    assert torch.allclose(scores, heads[1])
    assert torch.equal(events, arcs.events(heads[0].unsqueeze(1), scores.unsqueeze(1), sizes, n)[:, 0])


def test_both_arcs_of_an_edge_come_back_as_their_sum():
    edges = normal(2, 5, 5)
    back = arcs.from_arcs(arcs.to_arcs(edges), 5)
    twice = torch.ones(5, 5).triu(1) * 2
    twice[0] = twice[0].clamp(max=1)  # no arc enters the root
    assert torch.allclose(back, edges * twice)


@pytest.mark.thinned("scale", "required")
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("required", [False, True])
def test_entropies_and_derivatives_of_marginals(on, poisoned_memory, required, scale):
    def answers():
        edges = (scale * normal(5, 6, 6)).requires_grad_()
        trees, others = SpanningTree(edges, lengths(6)), SpanningTree(scale * normal(5, 6, 6).flip(0), lengths(6))
        if required:
            first = torch.zeros(5, 6, 6, dtype=torch.bool)
            first[:, 0, 1] = True
            trees, others = trees.condition(required=first), others.condition(required=first)
        for answer in trees.entropy(), trees.cross_entropy(others), trees.marginals.square().sum((-2, -1)):
            (slope,) = torch.autograd.grad(answer.sum(), edges, create_graph=True)
            (second,) = torch.autograd.grad(slope.square().sum(), edges, retain_graph=True)
            yield from (answer, slope, second)

    assert_kernels_answer_as_the_reference(on, answers, 1e-9, 1e-12 * max(scale, 1.0))


def test_edges_that_only_the_other_trees_require():
    edges = normal(1, 4, 4)
    required = torch.zeros(1, 4, 4, dtype=torch.bool)
    required[0, 0, 1] = True
    trees = SpanningTree(edges)
    assert trees.cross_entropy(trees.condition(required=required)) == torch.inf
    assert trees.condition(required=required).cross_entropy(trees) < torch.inf


def test_no_exchange_is_searched_after_the_last_tree(monkeypatch):
    searches = []

    def plain(name: str) -> Callable[..., Any]:
        return getattr(getattr(prim, name), "py_func", getattr(prim, name))

    kbest, exchange = plain("_kbest"), plain("_best_exchange")
    for name in ("_prim", "_better", "_write", "_exchange"):
        monkeypatch.setattr(prim, name, plain(name))
    monkeypatch.setattr(prim, "_best_exchange", lambda *given: (searches.append(given), exchange(*given))[1])
    weights, required = normal(5, 5).double().numpy(), np.zeros((5, 5), np.bool_)
    for k, most in ((1, 0), (2, 4), (3, 8)):
        scores = np.full(k, -np.inf)
        kbest(weights, required, np.full((k, 5, 5), -1), scores)
        assert np.isfinite(scores).all()
        assert len(searches) <= most
        searches.clear()
