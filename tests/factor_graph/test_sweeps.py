"""What mean field and belief propagation share: both go over the graph until their marginals come to rest."""

import math

import pytest
import torch
from tests.factor_graph.graphs import draw, grid

from strukt import BinaryCRF, FactorGraph
from strukt.factor_graph import factors

ESTIMATES = {"mean_field": "lower_bound", "belief_propagation": "log_partition"}
"""What each solver says of the log-partition."""

SOLVERS = pytest.mark.parametrize("solver", ESTIMATES)


def estimate(solver, found):
    return getattr(found, ESTIMATES[solver])


@SOLVERS
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_pairs_agree_with_the_binary_model(solver, seed):
    graph, pairwise = grid(3, 3, seed=seed)
    unary = draw(3, 3, seed=20 + seed)
    found = getattr(graph, solver)(unary, iterations=500, tol=1e-12)
    other = getattr(BinaryCRF(unary.flatten(), pairwise), solver)(iterations=500)
    assert torch.allclose(found.marginals.flatten(), other.marginals)
    assert torch.allclose(estimate(solver, found), estimate(solver, other))


@pytest.mark.parametrize(
    ("solver", "constraint"),
    [("mean_field", lambda x: factors.Xor(x[[0, 2]])), ("belief_propagation", lambda x: factors.Budget(x, 2))],
)
def test_batches_are_their_items(solver, constraint):
    pairs = draw(3, 1, 4, seed=3)

    def solve(pairs, scores):
        graph = FactorGraph()
        x = graph.variables(4)
        graph.add(factors.Pairwise(x, x[[1, 2, 3, 0]], pairs))
        graph.add(constraint(x))
        return getattr(graph, solver)(scores)

    scores = draw(2, 4, seed=4) * torch.tensor([[0.1], [3.0]])
    whole = solve(pairs, scores)
    assert whole.marginals.shape == (3, 2, 4)
    assert estimate(solver, whole).shape == whole.status.shape == whole.residual.shape == (3, 2)
    assert len(set(whole.iterations.flatten().tolist())) > 1
    for i in range(3):
        for j in range(2):
            item = solve(pairs[i, 0], scores[j])
            assert torch.allclose(whole.marginals[i, j], item.marginals, rtol=1e-12)
            assert torch.allclose(estimate(solver, whole)[i, j], estimate(solver, item), rtol=1e-12)
            assert whole.iterations[i, j] == item.iterations
    assert solve(pairs[0, 0], draw(0, 4)).marginals.shape == (0, 4)


@SOLVERS
def test_what_does_not_come_to_rest_is_said(solver):
    graph, _ = grid(3, 3, scale=8.0)
    with pytest.warns(UserWarning, match=rf"{solver} stopped after 2 (sweeps|rounds) .* still change by"):
        found = getattr(graph, solver)(draw(2, 3, 3), iterations=2)
    assert not found.status.any()
    assert (found.residual > 1e-6).all()
    assert found.iterations.tolist() == [2, 2]


@SOLVERS
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iterations": 0}, "iterations is 0"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"tol": math.nan}, "tol is nan"),
    ],
)
def test_settings(solver, settings, message):
    graph = FactorGraph()
    graph.variables(2)
    with pytest.raises(ValueError, match=message):
        getattr(graph, solver)(torch.zeros(2), **settings)


@SOLVERS
def test_single_precision_is_computed_in_double(solver):
    graph, _ = grid(3, 3)
    scores = draw(4, 3, 3).float()
    found, exact = getattr(graph, solver)(scores), getattr(graph, solver)(scores.double())
    assert found.marginals.dtype == torch.float32
    assert torch.equal(found.marginals, exact.marginals.float())
    assert torch.equal(found.iterations, exact.iterations)
