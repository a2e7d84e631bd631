"""Knapsacks: the best selection, sums over all, and how the exact polytope differs from the relaxed one."""

import numpy as np
import pytest
import torch
from tests.factor_graph.graphs import draw, every

from strukt import FactorGraph
from strukt.factor_graph import factors
from strukt.factor_graph.knapsack import solve_knapsack

BUDGETS = [0.0, 1.0, 2.5, 100.0]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("whole", [True, False])
def test_the_best_selection(budget, whole):
    generator = np.random.default_rng(0)
    selections = np.array(every(7))
    for _ in range(20):
        scores, costs = generator.normal(size=7), generator.uniform(0, 3, 7)
        costs = costs.round() if whole else costs
        found = solve_knapsack(scores, costs, budget)
        assert found @ costs <= budget
        affordable = selections[selections @ costs <= budget]
        assert found @ scores == pytest.approx((affordable @ scores).max())


def test_nothing_to_take():
    assert not solve_knapsack(np.array([-1.0, 0.0]), np.zeros(2), 1.0).any()
    assert solve_knapsack(np.zeros(0), np.zeros(0), 1.0).shape == (0,)


def test_many_items_with_whole_costs():
    generator = np.random.default_rng(1)
    scores, costs = generator.uniform(size=300), generator.integers(1, 9, 300).astype(float)
    best = np.zeros(201)
    for score, cost in zip(scores, costs.astype(int), strict=True):
        best[cost:] = np.maximum(best[cost:], best[:-cost] + score)
    assert solve_knapsack(scores, costs, 200.0) @ scores == pytest.approx(best.max())


@pytest.mark.parametrize("knapsack", [factors.Knapsack, factors.RelaxedKnapsack])
def test_an_item_that_costs_far_too_much_lets_in_no_others(knapsack):
    graph, alone = FactorGraph(), FactorGraph()
    graph.add(knapsack(graph.variables(4), [1e12, 1, 1, 1], 1))
    alone.add(knapsack(alone.variables(3), [1, 1, 1], 1))
    scores = draw(2, 4) + 1
    truth = alone.enumerate(scores[:, 1:])
    assert torch.equal(graph.enumerate(scores).mode[:, 1:], truth.mode)
    assert torch.equal(graph.lp_map(scores, exact=True).marginals[:, 1:], truth.mode.to(scores))
    assert torch.allclose(graph.belief_propagation(scores).marginals[:, 1:], truth.marginals)


@pytest.mark.parametrize(("knapsack", "bound"), [(factors.Knapsack, 5.0), (factors.RelaxedKnapsack, 7.5)])
def test_the_relaxed_polytope_is_larger(knapsack, bound):
    graph = FactorGraph()
    graph.add(knapsack(graph.variables(2), [2.0, 2.0], budget=3.0))
    assert graph.lp_map(torch.tensor([5.0, 5.0])).bound == pytest.approx(bound)
