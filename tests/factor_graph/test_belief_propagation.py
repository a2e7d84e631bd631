"""Belief propagation: exact without cycles, honest with them."""

import math

import pytest
import torch
from tests.factor_graph.graphs import draw, every, logic_tree, scored_tree

import strukt
from strukt import FactorGraph
from strukt.factor_graph import factors
from strukt.factor_graph.counting import count


def scores_of(graph, *batch, seed=0, scale=1.0):
    return tuple(
        draw(*batch, *shape, seed=seed + i, scale=scale) for i, shape in enumerate(graph.arrays.shapes)
    )


def together(values):
    return torch.cat([v.flatten() for v in values]) if isinstance(values, tuple) else values.flatten()


@pytest.mark.thinned("scale", "damping")
@pytest.mark.parametrize("make", [logic_tree, scored_tree])
@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_exact_without_cycles(make, damping, scale):
    graph = make()
    scores = scores_of(graph, 3, scale=scale)
    found, truth = graph.belief_propagation(scores, damping=damping, tol=1e-12), graph.enumerate(scores)
    assert found.status.all()
    assert (found.residual <= 1e-12).all()
    assert torch.allclose(together(found.marginals), together(truth.marginals), atol=1e-9)
    assert torch.allclose(found.log_partition, truth.log_partition)


def test_without_factors():
    graph = FactorGraph()
    graph.variables(3)
    scores = draw(2, 3)
    found = graph.belief_propagation(scores)
    assert torch.allclose(found.marginals, scores.sigmoid())
    assert torch.allclose(found.log_partition, torch.nn.functional.softplus(scores).sum(-1))
    assert found.status.all()
    assert found.iterations.tolist() == [1, 1]


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_huge_scores(scale):
    graph = logic_tree()
    scores = scores_of(graph, 3, scale=scale)
    found, truth = graph.belief_propagation(scores, damping=0.0), graph.enumerate(scores)
    assert torch.allclose(together(found.marginals), together(truth.marginals), atol=1e-9)
    assert torch.allclose(found.log_partition, truth.log_partition)


@pytest.mark.parametrize("make", [logic_tree, scored_tree])
def test_forbidden_variables(make):
    graph = make()
    scores = [s.clone() for s in scores_of(graph, 4)]
    scores[0].flatten(1)[range(4), [0, 1, 3, 5]] = -math.inf
    scores[-1].flatten(1)[range(4), [1, 2, 0, 6]] = -math.inf
    truth = graph.enumerate(scores)
    assert (truth.log_partition > -math.inf).any()
    found = graph.belief_propagation(scores, damping=0.0)
    assert torch.allclose(together(found.marginals), together(truth.marginals), atol=1e-9)
    assert torch.allclose(found.log_partition, truth.log_partition)


def test_infeasible_items_stand_alone():
    graph = FactorGraph()
    graph.add(factors.Xor(graph.variables(2)))
    scores = torch.tensor([[-math.inf, -math.inf], [0.0, -math.inf], [1.0, 2.0]])
    found = graph.belief_propagation(scores)
    assert found.log_partition.tolist() == pytest.approx([-math.inf, 0.0, math.log(math.e + math.e**2)])
    assert found.marginals[1].tolist() == [1, 0]
    assert not found.marginals.isnan().any()


def test_evidence_reaches_a_structure():
    graph = FactorGraph()
    x = graph.variables(3, 4)
    graph.add(factors.Tree(x))
    must = graph.variables()
    graph.add(factors.Xor([x[0, 2], ~must]))
    scores = draw(3, 4)
    found = graph.belief_propagation((scores, torch.tensor(-math.inf)), damping=0.0)
    required = torch.zeros(3, 4, dtype=torch.bool)
    required[0, 2] = True
    trees = strukt.NonProjectiveTree(scores)
    given = trees.condition(forbidden=required)
    assert torch.allclose(found.marginals[0], given.marginals)
    assert torch.allclose(found.log_partition, given.log_partition)
    must = FactorGraph()
    y = must.variables(3, 4)
    must.add(factors.Tree(y))
    must.add(factors.Xor(y[0, 2]))
    found = must.belief_propagation(scores, damping=0.0)
    given = trees.condition(required=required)
    assert torch.allclose(found.marginals, given.marginals)
    assert torch.allclose(found.log_partition, given.log_partition)


@pytest.mark.parametrize("make", [logic_tree, scored_tree])
def test_derivatives_by_unrolling(make):
    graph = make()
    scores = [s.requires_grad_() for s in scores_of(graph)]
    found, truth = graph.belief_propagation(scores, damping=0.0), graph.enumerate(scores)
    weights = draw(len(together(truth.marginals)), seed=9)
    for one, other in (
        (found.log_partition, truth.log_partition),
        (together(found.marginals) @ weights, together(truth.marginals) @ weights),
    ):
        mine, theirs = (torch.autograd.grad(value, scores, retain_graph=True) for value in (one, other))
        assert all(torch.allclose(a, b, atol=1e-8) for a, b in zip(mine, theirs, strict=True))


def test_derivatives_of_factor_scores():
    transition, pair, table = (draw(*shape).requires_grad_() for shape in [(2, 2), (), (2, 2)])
    graph = FactorGraph()
    x = graph.variables(3, 2)
    y = graph.variables(2)
    graph.add(factors.Chain(x, transition))
    graph.add(factors.Pairwise(x[0, 0], y[0], pair))
    graph.add(factors.Dense(y, table))
    scores = scores_of(graph)
    given = (transition, pair, table)
    mine = torch.autograd.grad(graph.belief_propagation(scores, damping=0.0).log_partition, given)
    theirs = torch.autograd.grad(graph.enumerate(scores).log_partition, given)
    assert all(torch.allclose(a, b, atol=1e-9) for a, b in zip(mine, theirs, strict=True))


@pytest.mark.parametrize("costs", [[1, 1, 1], [2, 0, 3], [5, 1, 1]])
@pytest.mark.parametrize("saturating", [False, True])
def test_counting_against_all_assignments(costs, saturating):
    weights, terminal = draw(2, 3, 2), draw(3, seed=1)
    sums, totals = count(weights, costs, terminal, saturating)
    wanted, reached = torch.zeros(2, 3, 2, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.float64)
    for y in every(3):
        total = sum(c * v for c, v in zip(costs, y, strict=True))
        total = min(total, 2) if saturating else total
        if total > 2:
            continue
        each = weights[:, range(3), list(y)]
        reached[:, total] += each.sum(-1).exp()
        for i in range(3):
            wanted[:, i, y[i]] += (each.sum(-1) - each[:, i] + terminal[total]).exp()
    assert torch.allclose(sums.exp(), wanted)
    assert torch.allclose(totals.exp(), reached)


class Nothing(factors.Factor):
    def map(self, scores):
        return torch.zeros_like(scores)


def test_factors_without_sums_say_what_to_give():
    graph = FactorGraph()
    x = graph.variables(2)
    graph.add(Nothing(x))
    with pytest.raises(
        NotImplementedError, match=r"Nothing can compute its best assignment, .* Dense .* Structure"
    ):
        graph.belief_propagation(torch.zeros(2))


@pytest.mark.parametrize("knapsack", [factors.Knapsack, factors.RelaxedKnapsack])
def test_costs_that_are_not_whole_are_refused(knapsack):
    graph = FactorGraph()
    graph.add(knapsack(graph.variables(2), [0.5, 1], 1))
    with pytest.raises(NotImplementedError, match=r"whole numbers .* \[0.5, 1.0\]; scale and round"):
        graph.belief_propagation(torch.zeros(2))
