"""Warm starts whose graph, batch, scores or permitted assignments are not those of the earlier result."""

import pytest
import torch
from tests.factor_graph.graphs import draw

from strukt import FactorGraph, KSubset
from strukt.factor_graph import factors


class Most(factors.Factor):
    """At most so many variables are 1."""

    most = 3

    def map(self, scores):
        chosen = scores.topk(self.most, -1).indices
        return torch.zeros_like(scores).scatter(-1, chosen, 1.0) * (scores > 0)


@pytest.mark.parametrize("solver", ["lp_sparsemap", "lp_map"])
def test_a_start_knows_nothing_of_assignments_that_are_no_longer_permitted(solver):
    """Mixtures of assignments that the factor forbids, with a status of True, or no convergence."""
    scores = torch.tensor([0.9, 0.4, 0.3, 0.8], dtype=torch.float64)
    graph = FactorGraph()
    most = graph.add(Most(graph.variables(4)))
    start = getattr(graph, solver)(scores)
    most.most = 1
    warm = getattr(graph, solver)(scores, start=start)
    assert torch.allclose(warm.marginals, getattr(graph, solver)(scores).marginals, atol=1e-9)
    assert warm.status
    subsets, knapsack = FactorGraph(), FactorGraph()
    subsets.add(factors.Structure(subsets.variables(4), lambda scores: KSubset(scores, 3)))
    knapsack.add(factors.Knapsack(knapsack.variables(4), [1, 1, 1, 1], 2))
    warm = getattr(knapsack, solver)(scores, start=getattr(subsets, solver)(scores))
    assert torch.allclose(warm.marginals, getattr(knapsack, solver)(scores).marginals, atol=1e-9)


def test_a_start_of_another_graph_or_batch_is_refused():
    """IndexError, RuntimeError, or a message that expected what it was given."""
    scores = torch.tensor([0.9, 0.4, 0.3, 0.8])
    graph, other = FactorGraph(), FactorGraph()
    x, y = graph.variables(4), other.variables(4)
    graph.add(factors.Knapsack(x, [1, 1, 1, 1], 2))
    other.add(factors.Xor(y))
    start = graph.lp_sparsemap(scores)
    assert torch.equal(graph.lp_sparsemap(scores.double(), start=start).marginals.float(), start.marginals)
    for one, begin in ((graph, other.lp_sparsemap(scores)), (other, start)):
        with pytest.raises(ValueError, match="start is a result for another graph"):
            one.lp_sparsemap(scores, start=begin)
    graph.add(factors.Or(x[:2]))
    with pytest.raises(ValueError, match="start is a result for another graph"):
        graph.lp_sparsemap(scores, start=start)
    with pytest.raises(ValueError, match="start has a batch of 1 items; expected 3"):
        other.lp_sparsemap(scores.expand(3, 4), start=other.lp_sparsemap(scores))


def test_a_start_knows_nothing_of_scores_that_have_changed():
    table = torch.zeros(2, 2, 2, dtype=torch.float64)
    graph = FactorGraph()
    graph.add(factors.Dense(graph.variables(3), table))
    scores = torch.tensor([0.3, 0.2, 0.4], dtype=torch.float64)
    start = graph.lp_sparsemap(scores)
    table += 0.5 * draw(2, 2, 2, seed=3)
    warm = graph.lp_sparsemap(scores, start=start)
    assert torch.allclose(warm.marginals, graph.lp_sparsemap(scores).marginals, atol=1e-9)
    assert warm.gap < 1e-9


@pytest.mark.parametrize("start", [3, torch.zeros(3)])
def test_a_start_must_be_a_result(start):
    graph = FactorGraph()
    graph.add(factors.Xor(graph.variables(3)))
    with pytest.raises(ValueError, match=r"start is a .*; expected a result of lp_sparsemap or lp_map"):
        graph.lp_sparsemap(torch.zeros(3), start=start)
    with pytest.raises(ValueError, match="start is an exact result"):
        graph.lp_map(torch.zeros(3), start=graph.lp_map(torch.zeros(3), exact=True))
