"""Mean field on a graph: a free energy that falls with each sweep and stays above minus the log-partition."""

import pytest
import torch
from tests.factor_graph.graphs import draw

from strukt import FactorGraph, LinearChain
from strukt.factor_graph import factors


def mixed(seed=0, scale=1.0):
    """All soft factors, negated where that is possible; 13 variables in two arrays."""
    graph = FactorGraph()
    tags, rest = graph.variables(3, 3), graph.variables(4)
    graph.add(factors.Chain(tags, draw(3, 3, seed=seed, scale=scale)))
    graph.add(factors.Xor(tags[1]))
    graph.add(factors.Dense([tags[0], tags[2]], draw(3, 3, seed=seed + 1, scale=scale)))
    graph.add(factors.Dense([rest[0], ~rest[1], tags[0, 0]], draw(2, 2, 2, seed=seed + 2, scale=scale)))
    graph.add(
        factors.Pairwise(rest[1:], [~rest[0], rest[0], ~tags[1, 1]], draw(3, seed=seed + 3, scale=scale))
    )
    return graph


def scores_of(graph, *batch, seed=10):
    return tuple(draw(*batch, *shape, seed=seed + i) for i, shape in enumerate(graph.arrays.shapes))


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_the_free_energy_falls_and_bounds_the_log_partition(scale, damping):
    graph = mixed(scale=scale)
    scores = scores_of(graph, 4)
    found = graph.mean_field(scores, damping=damping, iterations=1000, tol=1e-10)
    assert found.status.all()
    assert found.free_energy.shape == (4, int(found.iterations.max()))
    assert (found.free_energy.diff(dim=-1) <= 1e-12).all()
    assert (found.free_energy[:, -1] < found.free_energy[:, 0]).all()
    assert (found.lower_bound <= graph.enumerate(scores).log_partition + 1e-12).all()


def test_the_free_energy_is_that_of_the_product():
    graph = mixed()
    scores = scores_of(graph)
    found = graph.mean_field(scores)
    truth = graph.enumerate(scores)
    tags, rest = found.marginals
    assert torch.allclose(tags.sum(-1), torch.ones(3, dtype=torch.float64))
    ones = truth.assignments.double()
    hot, free = ones[:, :9] > 0, ones[:, 9:] > 0
    log_product = torch.where(hot, tags.flatten().log(), 0.0).sum(-1)
    log_product = log_product + torch.where(free, rest.log(), (1 - rest).log()).sum(-1)
    assert torch.allclose(log_product.exp().sum(), torch.ones((), dtype=torch.float64))
    assert torch.allclose(found.lower_bound, (log_product.exp() * (truth.scores - log_product)).sum())


def test_the_end_is_stationary():
    graph = mixed()
    scores = [s.requires_grad_() for s in scores_of(graph)]
    found = graph.mean_field(scores, iterations=500, tol=1e-13)
    gradients = torch.autograd.grad(found.lower_bound, scores)
    assert all(torch.allclose(g, m) for g, m in zip(gradients, found.marginals, strict=True))


def test_exact_where_nothing_depends():
    graph = FactorGraph()
    graph.add(factors.Chain(graph.variables(3, 2), torch.zeros(2, 2)))
    graph.variables(2)
    scores = (draw(4, 3, 2), draw(4, 2, seed=1))
    found = graph.mean_field(scores)
    assert torch.allclose(found.marginals[0], scores[0].softmax(-1))
    assert torch.allclose(found.marginals[1], scores[1].sigmoid())
    exact = LinearChain(scores[0], torch.zeros(2, 2)).log_partition + torch.nn.functional.softplus(
        scores[1]
    ).sum(-1)
    assert torch.allclose(found.lower_bound, exact)


def test_derivatives_by_unrolling():
    transition, table, pair = (draw(*shape).requires_grad_() for shape in [(2, 2), (2, 2), ()])
    scores = draw(3, 2, seed=3).requires_grad_()

    def solve(scores, transition, table, pair):
        graph = FactorGraph()
        x = graph.variables(3, 2)
        graph.add(factors.Chain(x, transition))
        graph.add(factors.Dense([x[0, 0], ~x[2, 1]], table))
        graph.add(factors.Pairwise(x[0, 1], x[1, 1], pair))
        found = graph.mean_field(scores)
        return found.marginals, found.free_energy[-1]

    assert torch.autograd.gradcheck(solve, (scores, transition, table, pair), atol=1e-5)


def test_forbidden_variables():
    graph = FactorGraph()
    x = graph.variables(2, 2)
    graph.add(factors.Chain(x[:1], torch.zeros(2, 2)))
    graph.add(factors.Pairwise(x[0], x[1], torch.ones(2)))
    scores = torch.tensor([[-torch.inf, 1.0], [-torch.inf, 0.0]], requires_grad=True)
    found = graph.mean_field(scores)
    assert torch.allclose(found.marginals[0], torch.tensor([0.0, 1.0]))
    assert found.marginals[1, 0] == 0
    assert torch.allclose(found.marginals[1, 1], torch.tensor(1.0).sigmoid())
    (gradient,) = torch.autograd.grad(found.marginals.sum(), scores)
    assert gradient.isfinite().all()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: factors.Or(x), "Or over 6 variables"),
        (lambda x: factors.Matching(x), "Matching over 6 variables"),
        (lambda x: factors.Dense(x[0, :1], torch.tensor([0.0, -torch.inf])), "Dense over 1 variables"),
        (lambda x: factors.Pairwise(x[0, 0], x[0, 1], torch.tensor(-torch.inf)), "Pairwise over 2 variables"),
    ],
)
def test_factors_that_forbid_are_refused(make, name):
    graph = FactorGraph()
    graph.add(make(graph.variables(2, 3)))
    with pytest.raises(ValueError, match=f"{name} forbids .* use belief_propagation or lp_sparsemap"):
        graph.mean_field(torch.zeros(2, 3))


def test_groups_that_overlap_are_refused():
    graph = FactorGraph()
    x = graph.variables(3)
    graph.add(factors.Xor(x[:2]))
    graph.add(factors.Xor(x[1:]))
    with pytest.raises(ValueError, match="Xor over 2 variables has a group that shares some, but not all"):
        graph.mean_field(torch.zeros(3))
    graph = FactorGraph()
    graph.add(factors.Xor(~graph.variables(3)))
    with pytest.raises(ValueError, match="Xor over 3 variables has a group with negated variables"):
        graph.mean_field(torch.zeros(3))
