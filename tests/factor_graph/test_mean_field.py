"""Mean field on a graph: a free energy that falls with each sweep and stays above minus the log-partition."""

import numpy as np
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
@pytest.mark.parametrize("step_size", [1.0, 0.5])
def test_the_free_energy_falls_and_bounds_the_log_partition(scale, step_size):
    graph = mixed(scale=scale)
    scores = scores_of(graph, 4)
    found = graph.mean_field(scores, step_size=step_size, iterations=1000, tol=1e-10)
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


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: factors.Pairwise(x[0], x[2], torch.tensor(10.0)), "Pairwise over 2"),
        (lambda x: factors.Pairwise(x[[3, 0]], ~x[[0, 2]], torch.zeros(2)), "Pairwise over 4"),
        (lambda x: factors.Dense(x[[3, 0, 1]], torch.zeros(2, 2, 2)), "Dense over 3"),
    ],
)
def test_terms_of_several_variables_of_a_group_are_refused(make, name):
    """A lower bound of 3.2 on a log-partition of log 3 = 1.1, as if the alternatives were independent."""
    graph = FactorGraph()
    x = graph.variables(4)
    graph.add(make(x))
    assert graph.mean_field(torch.zeros(4)).status
    graph.add(factors.Xor(x[:3]))
    with pytest.raises(ValueError, match=f"{name} variables has a term with two variables of one group"):
        graph.mean_field(torch.zeros(4))


def test_groups_of_a_schedule_are_set_at_once_and_in_order():
    graph = FactorGraph()
    x, y = graph.variables(2), graph.variables(2)
    pairs = draw(2, seed=1)
    graph.add(factors.Pairwise([x[0], x[1]], [y[0], y[1]], pairs))
    graph.add(factors.Pairwise(x[0], x[1], torch.tensor(1.5)))
    s, t = draw(2, seed=2), draw(2, seed=3)
    p, q = s.sigmoid(), t.sigmoid()
    found = graph.mean_field((s, t), iterations=1, tol=None, schedule=[y, x]).marginals
    new_q = (t + pairs * p).sigmoid()
    torch.testing.assert_close(found[1], new_q)
    torch.testing.assert_close(found[0], (s + pairs * new_q + 1.5 * p.flip(0)).sigmoid())
    told = pairs * q + 1.5 * p.flip(0)
    new_p, of_each = (s + told).sigmoid(), (torch.full((2,), 0.25).double(), torch.ones(2).double())
    for settings, expected in (
        ({}, new_p),
        ({"step_size": 0.25}, 0.25 * new_p + 0.75 * p),
        ({"step_size": of_each}, 0.25 * new_p + 0.75 * p),
        ({"damping": 0.25}, (s + 0.75 * told).sigmoid()),
    ):
        found = graph.mean_field((s, t), iterations=1, tol=None, schedule="parallel", **settings).marginals
        torch.testing.assert_close(found[0], expected)


def test_every_variable_has_its_weight():
    graph = FactorGraph()
    graph.variables(2)
    groups = graph.variables(2, 3)
    graph.add(factors.Xor(groups[0]))
    graph.add(factors.Xor(groups[1]))
    scores = (draw(2), draw(2, 3, seed=1))
    weights = (torch.tensor([0.5, 2.0]), torch.tensor([[0.5], [3.0]]).expand(2, 3))
    found = graph.mean_field(scores, weights=weights)
    torch.testing.assert_close(found.marginals[0], (scores[0] / weights[0]).sigmoid())
    torch.testing.assert_close(found.marginals[1], (scores[1] / weights[1]).softmax(-1))
    with pytest.raises(
        ValueError, match=r"weights has the shapes \(2,\); expected a number, or tensors in the"
    ):
        graph.mean_field(scores, weights=weights[0])
    with pytest.raises(
        ValueError, match="weights has the shapes float, float; expected a number, or tensors in the"
    ):
        graph.mean_field(scores, weights=[1.0, 2.0])
    one = graph.mean_field(scores, weights=torch.tensor(2.0)).marginals
    torch.testing.assert_close(one[0], (scores[0] / 2).sigmoid())
    uneven = (torch.ones(2), torch.tensor([[1.0, 0.5, 1.0], [1.0, 1.0, 1.0]]))
    for name in ("weights", "step_size", "damping"):
        with pytest.raises(ValueError, match=f"^{name} is .* for a group of alternatives; expected one number"):
            graph.mean_field(scores, **{name: tuple(0.5 * part for part in uneven)})
    with pytest.raises(ValueError, match="tol is -1; expected at least 0"):
        graph.mean_field(scores, tol=-1)


@pytest.mark.parametrize("gradients", ["unrolled", "implicit"])
def test_one_weight_for_all_variables_has_a_gradient(gradients):
    """It had none, as it was read as a plain number."""
    graph = FactorGraph()
    x = graph.variables(3)
    graph.add(factors.Pairwise(x[:2], x[1:], draw(2, seed=1)))

    def total(weight):
        return (graph.mean_field(draw(3), tol=1e-12, weights=weight, gradients=gradients).marginals).sum()

    weight = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(total(weight), weight)
    difference = (total(0.7 + 1e-5) - total(0.7 - 1e-5)) / 2e-5
    assert difference.abs() > 1e-3
    torch.testing.assert_close(slope, difference, rtol=1e-5, atol=1e-8)
    torch.testing.assert_close(total(np.float32(0.5)), total(0.5))


@pytest.mark.parametrize("name", ["weights", "damping", "step_size"])
def test_numbers_are_as_precise_as_tensors(name):
    """They were rounded to single precision."""
    graph = FactorGraph()
    x = graph.variables(3)
    graph.add(factors.Pairwise(x[:2], x[1:], draw(2, seed=1)))
    number, tensor = (
        graph.mean_field(draw(3), iterations=3, tol=None, **{name: setting}).marginals
        for setting in (0.7, torch.tensor(0.7, dtype=torch.float64))
    )
    assert torch.equal(number, tensor)


def test_a_group_that_permits_nothing_has_no_bound():
    graph = FactorGraph()
    group = graph.variables(3)
    graph.add(factors.Xor(group))
    scores = torch.stack([draw(3), torch.full((3,), -torch.inf, dtype=torch.float64)])
    found = graph.mean_field(scores)
    assert found.lower_bound.tolist() == [pytest.approx(scores[0].logsumexp(0).item()), -torch.inf]
    assert not found.marginals[1].any()


@pytest.mark.parametrize("regularizer", ["entropy", "sparsemax"])
def test_the_free_energy_falls_with_any_weights_and_regulariser(regularizer):
    graph = mixed(scale=3.0)
    options = {"weights": 0.4, "regularizer": regularizer, "iterations": 300, "tol": 1e-9}
    found = graph.mean_field(scores_of(graph, 4), **options)
    assert found.status.all()
    assert (found.free_energy.diff(dim=-1) <= 1e-12).all()
    if regularizer == "sparsemax":
        assert (torch.cat([part.flatten() for part in found.marginals]) == 0).sum() > 5


def test_implicit_gradients_are_those_of_many_sweeps():
    graph = mixed(scale=0.5)
    scores = [score.requires_grad_() for score in scores_of(graph, 2)]

    def answers(gradients):
        found = graph.mean_field(scores, iterations=300, tol=1e-12, gradients=gradients)
        return torch.autograd.grad(found.marginals[0].square().sum() + found.lower_bound.sum(), scores)

    torch.testing.assert_close(answers("implicit"), answers("unrolled"))


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (lambda x: "random", "schedule is 'random'; expected 'sequential', 'parallel', or a list of groups"),
        (lambda x: [x[0]], "schedule leaves out 2 variables"),
        (lambda x: [x, x[0]], "schedule has a variable in two groups"),
        (lambda x: [x[:, 0], x[:, 1]], "schedule splits variables of which exactly one is 1"),
    ],
)
def test_schedules_that_do_not_fit(schedule, message):
    graph = FactorGraph()
    x = graph.variables(2, 2)
    graph.add(factors.Xor(x[0]))
    with pytest.raises(ValueError, match=message):
        graph.mean_field(torch.zeros(2, 2), schedule=schedule(x))
