"""The enumeration of a graph, which is the truth of other tests, against sums written out."""

import math

import pytest
import torch
from tests.factor_graph.graphs import draw, scored_tree

from strukt import FactorGraph, InfeasibleError
from strukt.factor_graph import factors


def test_a_graph_written_out():
    a, b, c = 0.3, -0.7, 1.1
    graph = FactorGraph()
    x = graph.variables(2)
    graph.add(factors.Or(x))
    graph.add(factors.Pairwise(x[0], x[1], torch.tensor(c, dtype=torch.float64)))
    found = graph.enumerate(torch.tensor([a, b], dtype=torch.float64))
    assert found.assignments.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert found.scores.tolist() == pytest.approx([b, a, a + b + c])
    total = math.exp(a) + math.exp(b) + math.exp(a + b + c)
    assert found.log_partition.item() == pytest.approx(math.log(total))
    first = (math.exp(a) + math.exp(a + b + c)) / total
    assert found.marginals.tolist() == pytest.approx([first, 1 - math.exp(a) / total])
    assert found.mode.tolist() == [1, 1]
    assert found.max_score.item() == pytest.approx(a + b + c)
    shares = [math.exp(s) / total for s in (a, b, a + b + c)]
    assert found.entropy.item() == pytest.approx(-sum(p * math.log(p) for p in shares))


def test_without_factors_variables_are_independent():
    graph = FactorGraph()
    graph.variables(2, 2)
    graph.variables()
    scores = (draw(3, 2, 2), draw(3, seed=1))
    found = graph.enumerate(scores)
    assert found.scores.shape == (3, 32)
    square, single = found.marginals
    assert torch.allclose(square, scores[0].sigmoid())
    assert torch.allclose(single, scores[1].sigmoid())
    assert [part.shape for part in found.mode] == [(3, 2, 2), (3,)]
    everything = sum(torch.nn.functional.softplus(s).reshape(3, -1).sum(-1) for s in scores)
    assert torch.allclose(found.log_partition, everything)


def test_derivatives_reach_scores_and_factors():
    chain, pair = draw(2, 2, seed=1).requires_grad_(), draw(seed=2).requires_grad_()
    scores = draw(3, 2, seed=3).requires_grad_()

    def both(scores, chain, pair):
        graph = FactorGraph()
        x = graph.variables(3, 2)
        graph.add(factors.Chain(x, chain))
        graph.add(factors.Pairwise(x[0, 0], ~x[2, 1], pair))
        found = graph.enumerate(scores)
        return found.log_partition, found.marginals, found.entropy

    assert torch.autograd.gradcheck(both, (scores, chain, pair))
    assert torch.autograd.gradgradcheck(lambda *given: both(*given)[0], (scores, chain, pair))
    log_partition, marginals, _ = both(scores, chain, pair)
    (gradient,) = torch.autograd.grad(log_partition, scores)
    assert torch.allclose(gradient, marginals)


def test_forbidden_variables_and_items():
    graph = FactorGraph()
    graph.add(factors.Xor(graph.variables(2)))
    scores = torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf], [1.0, 1.0]], requires_grad=True)
    found = graph.enumerate(scores)
    assert found.log_partition.tolist() == pytest.approx([0.0, -math.inf, 1 + math.log(2)])
    assert found.marginals.tolist() == [[1, 0], [0, 0], [0.5, 0.5]]
    assert found.entropy.tolist() == pytest.approx([0, 0, math.log(2)])
    (gradient,) = torch.autograd.grad(found.log_partition[[0, 2]].sum() + found.marginals.sum(), scores)
    assert torch.allclose(gradient, torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 0.5]]))
    with pytest.raises(InfeasibleError, match="batch item 1"):
        _ = found.mode


def test_a_graph_that_permits_nothing():
    graph = FactorGraph()
    x = graph.variables(2)
    graph.add(factors.Or(x))
    graph.add(factors.Budget(x, 0))
    found = graph.enumerate(torch.zeros(4, 2))
    assert found.assignments.shape == (0, 2)
    assert found.scores.shape == (4, 0)
    assert found.log_partition.tolist() == [-math.inf] * 4
    assert found.marginals.tolist() == [[0, 0]] * 4
    with pytest.raises(InfeasibleError):
        _ = found.mode


def test_batches_are_their_items():
    table, first, second = draw(3, 1, 2, 2), draw(2, 3, seed=1), draw(3, 2, 2, seed=2)

    def solve(table, scores):
        graph = FactorGraph()
        x, y = graph.variables(3), graph.variables(2)
        graph.add(factors.Dense([x[0], y[1]], table))
        return graph.enumerate(scores)

    whole = solve(table, (first, second))
    assert whole.scores.shape == (3, 2, 32)
    assert [part.shape for part in whole.marginals] == [(3, 2, 3), (3, 2, 2)]
    for i in range(3):
        for j in range(2):
            item = solve(table[i, 0], (first[j], second[i, j]))
            assert torch.allclose(whole.log_partition[i, j], item.log_partition)
            assert torch.equal(whole.mode[0][i, j], item.mode[0])
    assert solve(table[0, 0], (draw(0, 3), draw(0, 2))).log_partition.shape == (0,)


def test_types_are_those_of_the_scores():
    graph = scored_tree()
    scores = (torch.zeros(3, 2), torch.zeros(9))
    assert graph.enumerate(scores).log_partition.dtype == torch.float32
    assert graph.enumerate([s.double() for s in scores]).log_partition.dtype == torch.float64
    assert graph.enumerate([s.half() for s in scores]).log_partition.dtype == torch.float32
    assert graph.enumerate((scores[0], scores[1].double())).log_partition.dtype == torch.float64


def test_twenty_variables_are_enough():
    graph = FactorGraph()
    graph.variables(21)
    with pytest.raises(
        ValueError, match=r"the graph has 21 variables, and 2 to the power of 21 .* at most 20"
    ):
        graph.enumerate(torch.zeros(21))
