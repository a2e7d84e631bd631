"""Trees within a budget, against the LP-SparseMAP of a factor graph and a quadratic program over all trees."""

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from tests.scores import normal

from strukt.distributions import NonProjectiveTree, ProjectiveTree
from strukt.factor_graph import FactorGraph, factors
from strukt.structures.tree_budgets import sparsemap_within_budget


def crowded(batch, n, seed=0):
    """Scores by which some heads would have many dependents."""
    return (normal(batch, n, n + 1, seed=seed) + 2 * normal(batch, 1, n + 1, seed=seed + 1)).requires_grad_()


def by_factors(trees, budget):
    graph = FactorGraph()
    arcs = graph.variables(*trees.scores[0].shape[1:])
    graph.add(factors.Structure(arcs, lambda scores: type(trees)(scores, trees.lengths, trees.single_root)))
    for of_head in arcs.T:
        graph.add(factors.Budget(of_head, budget))
    return graph.lp_sparsemap(trees.scores[0]).marginals


@pytest.mark.parametrize("kind", [NonProjectiveTree, ProjectiveTree])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("budget", [1, pytest.param(2, marks=pytest.mark.slow), 4])
def test_it_is_the_lp_sparsemap_of_a_tree_and_budgets(kind, single_root, budget):
    arcs = crowded(5, 7)
    trees = kind(arcs, torch.tensor([7, 6, 4, 1, 0]), single_root)
    found, exact = sparsemap_within_budget(trees, budget), by_factors(trees, budget)
    assert found.status.all()
    assert torch.allclose(found.marginals, exact, atol=1e-6)
    assert found.marginals.sum(1).max() <= budget + 1e-6
    weights = normal(5, 7, 8, seed=5)
    (gradient,) = torch.autograd.grad((found.marginals * weights).sum(), arcs)
    (expected,) = torch.autograd.grad((exact * weights).sum(), arcs)
    assert torch.allclose(gradient, expected, atol=1e-5)


def test_it_is_the_nearest_mean_of_trees_that_keeps_the_budget():
    """By linear programs over the weights of all 64 trees of four words with one root.

    The result is a mean of trees within the budget, and no such mean gains more along the gradient there.
    """
    arcs = crowded(1, 4, seed=3).detach()
    trees = NonProjectiveTree(arcs)
    parts = trees.to_parts(trees.enumerate_support())[:, 0].flatten(1).double().numpy()
    scores = arcs.flatten().numpy()
    used = parts.reshape(-1, 4, 5).sum(1)
    found = sparsemap_within_budget(trees, 1).marginals.flatten().numpy()
    budget = {"A_ub": used.T, "b_ub": np.ones(5)}
    equal = {"A_eq": np.vstack([parts.T, np.ones(64)]), "b_eq": np.append(found, 1.0)}
    assert linprog(np.zeros(64), **budget, **equal).success
    gradient = scores - found
    best = linprog(-parts @ gradient, **budget, A_eq=np.ones((1, 64)), b_eq=[1.0])
    assert -best.fun - found @ gradient < 5e-9  # so that no part is off by more than 1e-4


def test_its_derivative_is_that_of_its_value():
    arcs = crowded(2, 5, seed=7)

    def solve(arcs):
        return sparsemap_within_budget(NonProjectiveTree(arcs, torch.tensor([5, 4])), 2).marginals

    assert torch.autograd.gradcheck(solve, arcs, atol=1e-5)


def test_a_budget_that_is_kept_anyway_changes_nothing():
    arcs = crowded(3, 6)
    trees = NonProjectiveTree(arcs)
    found = sparsemap_within_budget(trees, 6)
    assert found.iterations == 1
    assert (found.prices == 0).all()
    assert torch.equal(found.marginals, trees.sparsemap().marginals)


def test_prices_are_paid_by_heads_at_the_budget_alone():
    found = sparsemap_within_budget(NonProjectiveTree(crowded(4, 8)), 2)
    assert (found.prices > 0).any(-1).all()
    dependents = found.marginals.sum(1)
    assert torch.allclose(dependents[found.prices > 0], torch.tensor(2.0, dtype=torch.float64), atol=1e-6)


def test_types_batches_and_certain_trees():
    arcs = crowded(3, 6).detach()
    whole = sparsemap_within_budget(NonProjectiveTree(arcs), 2).marginals
    for item in range(3):
        alone = sparsemap_within_budget(NonProjectiveTree(arcs[item : item + 1]), 2).marginals
        assert torch.allclose(alone[0], whole[item], atol=1e-6)
    single = sparsemap_within_budget(NonProjectiveTree(arcs.float()), 2).marginals
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), whole, atol=1e-5)
    certain = sparsemap_within_budget(NonProjectiveTree(100 * arcs), 2).marginals  # hardly a face to move on
    assert certain.sum(1).max() <= 2 + 1e-6
    assert torch.allclose(certain.sum(-1), torch.ones(3, 6, dtype=torch.float64))


def test_forbidden_arcs_stay_forbidden():
    arcs = crowded(2, 5).detach()
    arcs[:, 1, 3] = -torch.inf
    arcs.requires_grad_()
    found = sparsemap_within_budget(NonProjectiveTree(arcs), 2)
    assert (found.marginals[:, 1, 3] == 0).all()
    (gradient,) = torch.autograd.grad(found.marginals[:, 0].square().sum(), arcs)
    assert gradient.isfinite().all()
    assert (gradient[:, 1, 3] == 0).all()


def test_what_is_refused_and_what_is_said():
    trees = NonProjectiveTree(crowded(2, 5))
    with pytest.raises(ValueError, match="budget is 0; expected at least 1"):
        sparsemap_within_budget(trees, 0)
    with pytest.raises(ValueError, match="max_iterations is 0"):
        sparsemap_within_budget(trees, 2, max_iterations=0)
    with pytest.raises(ValueError, match=r"batch shape \(\); expected one batch axis"):
        sparsemap_within_budget(NonProjectiveTree(torch.zeros(2, 3)), 2)
    with pytest.warns(UserWarning, match="2 of 2 trees do not meet the budget after 1 iterations"):
        found = sparsemap_within_budget(trees, 1, max_iterations=1)
    assert found.status.tolist() == [False, False]
