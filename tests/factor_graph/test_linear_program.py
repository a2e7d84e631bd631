"""LP-SparseMAP and LP-MAP of graphs, from the DSL down to the solver."""

import itertools
import math

import pytest
import torch
from tests.factor_graph.graphs import draw, logic_tree, scored_tree
from tests.factor_graph.test_oracles import ORACLES
from tests.factor_graph.test_permitted import LOGIC, OUT, Ordered
from tests.inference.tables import nearest

from strukt import FactorGraph, LinearChain, Matching, NonProjectiveTree
from strukt.errors import InfeasibleError
from strukt.factor_graph import factors


def scores_of(graph, *batch, scale=1.0):
    return tuple(draw(*batch, *shape, seed=i, scale=scale) for i, shape in enumerate(graph.arrays.shapes))


def sparsemap(assignments, scores, own):
    """SparseMAP over listed assignments by an active set over them all."""
    return torch.from_numpy(nearest(assignments, scores, own) @ assignments)


@pytest.mark.parametrize("name", [name for name in LOGIC if name != "RelaxedKnapsack"])
@pytest.mark.parametrize("negated", [False, True])
def test_one_logic_factor_is_its_sparsemap(name, negated):
    make, _ = LOGIC[name]
    graph = FactorGraph()
    x = graph.variables(4 if name in OUT else 3)
    graph.add(make(~x if negated else x))
    scores = draw(5, x.size, seed=1)
    found, truth = graph.lp_sparsemap(scores), graph.enumerate(torch.zeros(x.size))
    assert found.status.all()
    ones = truth.assignments.double().numpy()
    for mine, each in zip(found.marginals, scores.numpy(), strict=True):
        assert torch.allclose(mine, sparsemap(ones, each, 0.0), atol=1e-6)


@pytest.mark.parametrize("name", ORACLES)
def test_one_factor_with_an_oracle_is_its_sparsemap(name):
    make, shape = ORACLES[name]
    graph = FactorGraph()
    graph.add(make(graph.variables(*shape)))
    scores = draw(3, *shape, seed=12)
    found, truth = graph.lp_sparsemap(scores), graph.enumerate(torch.zeros_like(scores))
    assert found.marginals.shape == scores.shape
    for item in range(3):
        own = truth.scores[item]
        ones = truth.assignments[own > -torch.inf].double().numpy()
        wanted = sparsemap(ones, scores[item].flatten().numpy(), own[own > -torch.inf].numpy())
        assert torch.allclose(found.marginals[item].flatten(), wanted, atol=1e-6)


@pytest.mark.parametrize("make", [logic_tree, scored_tree])
def test_lp_map_without_cycles_is_the_best_assignment(make):
    graph = make()
    scores = scores_of(graph, 6)
    found, truth = graph.lp_map(scores), graph.enumerate(scores)
    best = truth.mode if isinstance(truth.mode, tuple) else (truth.mode,)
    mine = found.marginals if isinstance(found.marginals, tuple) else (found.marginals,)
    assert found.status.all()
    assert all(torch.allclose(a, b.double(), atol=1e-6) for a, b in zip(mine, best, strict=True))


def test_derivatives_reach_all_tensors():
    transition, pair, table = (draw(*shape).requires_grad_() for shape in [(2, 2), (), (2, 2)])
    scores = draw(2, 3, 2, seed=3).requires_grad_()

    def solve(scores, transition, pair, table):
        graph = FactorGraph()
        x = graph.variables(3, 2)
        graph.add(factors.Chain(x, transition))
        graph.add(factors.AtMostOne(x[:, 0]))
        graph.add(factors.Pairwise(x[0, 0], ~x[2, 0], pair))
        graph.add(factors.Dense([x[0, 1], ~x[1, 1]], table))
        return graph.lp_sparsemap(scores, tol=1e-12).marginals

    assert torch.autograd.gradcheck(solve, (scores, transition, pair, table), atol=1e-5, fast_mode=True)


def test_batches_types_and_starts():
    table = draw(3, 1, 2, 2)

    def made(table):
        graph = FactorGraph()
        x, y = graph.variables(3, 4), graph.variables(2)
        graph.add(factors.Tree(x))
        graph.add(factors.Budget(x[:, 1], 1))
        graph.add(factors.Dense([x[0, 0], y[1]], table))
        graph.add(Ordered(y))
        return graph

    graph, scores = made(table), (draw(2, 3, 4), draw(3, 2, 2, seed=1))
    whole = graph.lp_sparsemap(scores)
    assert [part.shape for part in whole.marginals] == [(3, 2, 3, 4), (3, 2, 2)]
    assert whole.status.shape == whole.gap.shape == whole.iterations.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            item = made(table[i, 0]).lp_sparsemap((scores[0][j], scores[1][i, j]))
            assert all(
                torch.allclose(a[i, j], b, atol=1e-8)
                for a, b in zip(whole.marginals, item.marginals, strict=True)
            )
    single = graph.lp_sparsemap([s.float() for s in scores])
    assert all(part.dtype == torch.float32 for part in single.marginals)
    assert all(
        torch.allclose(a.double(), b, atol=1e-5)
        for a, b in zip(single.marginals, whole.marginals, strict=True)
    )
    again = graph.lp_sparsemap(scores, start=whole)
    assert all(torch.allclose(a, b, atol=1e-8) for a, b in zip(again.marginals, whole.marginals, strict=True))
    assert (again.iterations <= whole.iterations).all()


def none_of_them_and_one():
    graph = FactorGraph()
    x = graph.variables(3)
    graph.add(factors.Xor(x))
    graph.add(factors.Budget(x, 0))
    return graph, draw(3)


def a_tree_without_arcs():
    graph = FactorGraph()
    x = graph.variables(3, 4)
    graph.add(factors.Tree(x))
    graph.add(factors.Budget(x[:, 1:], 1))
    graph.add(factors.Budget(x[:, 2], 0))
    return graph, draw(3, 4)


@pytest.mark.parametrize(
    "make", [none_of_them_and_one, pytest.param(a_tree_without_arcs, marks=pytest.mark.slow)]
)
def test_what_does_not_converge_is_said(make):
    graph, scores = make()
    with pytest.warns(UserWarning, match="still disagree after 10000 iterations: the gap is") as caught:
        found = graph.lp_sparsemap(scores)
    assert not found.status
    assert "if the constraints contradict each other, lp_map(exact=True) raises" in str(caught[0].message)
    with pytest.raises(InfeasibleError):
        graph.lp_map(scores, exact=True)


def test_rounding_errors_of_large_steps_are_no_disagreement(recwarn):
    """Steps grow to 5e4 here, and with them the rounding errors of multipliers; this never converged."""
    graph = FactorGraph()
    arcs, others = graph.variables(2, 3), graph.variables(2)
    flat = arcs.flatten()
    graph.add(factors.Tree(arcs))
    graph.add(factors.Xor([~others[1], ~flat[1]]))
    graph.add(factors.RelaxedKnapsack([~flat[0], others[1]], [1.3, 0.5], 0.7))
    graph.add(factors.Or([others[1], ~flat[0], flat[1]]))
    scores = torch.tensor(
        [
            *(0.5578038231004665, 15.047313294316378, 17.433947408529306),
            *(-6.732577800993377, 6.722078572347256, -14.745099086854365),
            *(-3.284667999323927, -16.344412043915945),
        ],
        dtype=torch.float64,
    )
    result = graph.lp_sparsemap((scores[:6].view(2, 3), scores[6:]))
    assert not recwarn.list
    assert result.status
    assert result.iterations < 1000
    expected = torch.tensor([[11.0, 0.0, 2.0], [2.0, 11.0, 0.0]]).double() / 13
    torch.testing.assert_close(result.marginals[0], expected, rtol=0, atol=1e-10)


def test_steps_do_not_grow_beyond_the_accuracy_of_multipliers(recwarn):
    """From the small step of LP-MAP they grew to 4e6 here, and elsewhere to 1e8, at which no item converges."""
    graph = FactorGraph()
    cells = graph.variables(2, 3)
    flat = cells.flatten()
    graph.add(factors.Matching(cells))
    graph.add(factors.Budget([flat[3], flat[4], flat[0]], 0, exactly=True))
    graph.add(factors.And([flat[3], flat[2]]))
    graph.add(factors.AtMostOne([flat[0], ~flat[4], flat[2]]))
    scores = [-0.06835464950860098, -0.9959337589887544, 1.156274147315494]
    others = [-0.3991796399371006, 1.2153481729296396, -0.811539280131176]
    scores = torch.tensor([scores, others], dtype=torch.float64)
    result = graph.lp_sparsemap(scores, start=graph.lp_map(2 * draw(2, 3, seed=20)))
    assert not recwarn.list
    assert result.status
    assert result.state.step.max() <= 1e6
    assert result.marginals.tolist() == [[0, 1, 0], [0, 0, 1]]


def test_a_bound_is_kept_in_silence(recwarn):
    graph, scores = frustrated(9, 0), draw(9, seed=100)
    for found in (graph.lp_sparsemap(scores, max_iterations=1), graph.lp_map(scores, max_iterations=1)):
        assert not found.status
        assert found.iterations == 1
    assert not recwarn.list


def frustrated(n, seed):
    """Pairs of all variables with scores of both signs, whose relaxation is far from whole."""
    graph = FactorGraph()
    x = graph.variables(n)
    first, second = zip(*itertools.combinations(range(n), 2), strict=True)
    graph.add(factors.Pairwise(x[list(first)], ~x[list(second)], 2 * draw(len(first), seed=seed)))
    return graph


@pytest.mark.parametrize("seed", range(2))
def test_the_best_assignment_of_a_frustrated_graph(seed):
    graph, scores = frustrated(9, seed), draw(9, seed=100 + seed)
    found, truth = graph.lp_map(scores, exact=True), graph.enumerate(scores)
    assert found.status
    assert torch.equal(found.marginals, truth.mode.double())
    assert torch.isclose(found.bound, truth.max_score)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_the_best_assignments_of_a_batch_under_hard_factors(seed):
    graph = FactorGraph()
    x = graph.variables(3, 4)
    graph.add(factors.Chain(x, draw(4, 4, seed=seed)))
    graph.add(factors.Knapsack(x[:, 1:].flatten(), torch.arange(1.0, 10.0), 9.5))
    graph.add(factors.Imply(x[0, 0], ~x[1, 1], x[2, 3]))
    graph.add(factors.Pairwise(x[0], x[2], draw(2, 4, seed=50 + seed)))
    scores = draw(2, 3, 4, seed=90 + seed)
    found = graph.lp_map(scores, exact=True)
    assert found.status.all()
    assert torch.equal(found.marginals, graph.enumerate(scores).mode.double())


def test_the_relaxation_bounds_all_scores_converged_or_not():
    graph, scores = frustrated(8, 7), draw(3, 8, seed=8)
    best = graph.enumerate(scores).max_score
    for rounds in (1, 5, 50, 10_000):
        assert (graph.lp_map(scores, max_iterations=rounds).bound >= best - 1e-9).all()


def test_a_search_that_is_cut_short_says_so():
    graph, scores = frustrated(10, 3), draw(10, seed=4)
    with pytest.warns(UserWarning, match="stopped after 2 nodes in 1 of 1 items, with a gap of"):
        found = graph.lp_map(scores, exact=True, max_nodes=2)
    assert not found.status
    assert found.gap > 0
    with pytest.warns(UserWarning, match="stopped after"):  # not searched to its end
        assert not graph.lp_map(scores, exact=True, max_nodes=1.5).status
    with pytest.raises(ValueError, match="max_nodes is nan; expected at least 1"):
        graph.lp_map(scores, exact=True, max_nodes=math.nan)


@pytest.mark.parametrize("kind", ["tree", "chain", "dense", "knapsack", "pair"])
def test_one_node_shows_that_nothing_is_permitted(kind):
    graph = FactorGraph()
    x = graph.variables(2, 3)
    generator = torch.Generator().manual_seed(0)
    transition, table = torch.randn(3, 3, generator=generator), torch.randn(2, 2, generator=generator)
    table[1, 1] = -torch.inf
    if kind == "tree":
        graph.add(factors.Tree(x))
    elif kind == "chain":
        graph.add(factors.Chain(x, transition))
    else:
        graph.add(factors.Xor(x[0]))
        graph.add(factors.Xor(x[1]))
    if kind == "dense":
        graph.add(factors.Dense([x[0, 0], x[1, 1]], table))
    elif kind == "knapsack":
        graph.add(factors.Knapsack(x, torch.arange(6.0), 4.5))
    elif kind == "pair":
        graph.add(factors.Pairwise(x[:1, 0], x[1:, 1], torch.tensor([-5.0])))
    graph.add(factors.AtMostOne(x))
    with pytest.raises(InfeasibleError, match="no assignment is permitted"):
        graph.lp_map(torch.randn(2, 3, generator=generator), exact=True, max_nodes=1)


def test_scores_of_zero_leave_room_for_the_only_assignment():
    graph = FactorGraph()
    x = graph.variables(2, 3)
    graph.add(factors.Tree(x))
    graph.add(factors.Budget(x[:, 0], 1))
    graph.add(factors.Xor([x[0, 2], x[1, 1]]))
    graph.add(factors.Xor([x[0, 0], x[1, 2]]))
    assert graph.lp_map(torch.zeros(2, 3), exact=True).marginals.tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("scores", [torch.zeros(12), torch.tensor([1.0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1])])
@pytest.mark.parametrize("kind", ["tree", "chain", "matching", "dense"])
def test_the_derivative_where_scores_tie_is_that_of_the_whole_face(kind, scores):
    """An untrained network gives equal scores: few assignments carry the optimum, which yet moves freely."""
    graph, scores = FactorGraph(), scores.double()
    if kind == "tree":
        graph.add(factors.Tree(graph.variables(3, 4)))
        alone = lambda s: NonProjectiveTree(s).sparsemap().marginals  # noqa: E731
    elif kind == "chain":
        graph.add(factors.Chain(graph.variables(4, 3), torch.zeros(3, 3, dtype=torch.float64)))
        alone = lambda s: LinearChain(s, torch.zeros(3, 3).double()).sparsemap().marginals  # noqa: E731
    elif kind == "matching":
        graph.add(factors.Matching(graph.variables(3, 4)))
        alone = lambda s: Matching(s).sparsemap().marginals  # noqa: E731
    else:
        x = graph.variables(3, 4)
        graph.add(factors.Dense([x[0], x[1], x[2]], torch.zeros(4, 4, 4, dtype=torch.float64)))
        transition = torch.zeros(4, 4, dtype=torch.float64)
        alone = lambda s: LinearChain(s, transition).sparsemap().marginals  # noqa: E731
    given = scores.reshape(graph.arrays.shapes[0])
    jacobian = torch.autograd.functional.jacobian(lambda s: graph.lp_sparsemap(s).marginals, given)
    expected = torch.autograd.functional.jacobian(alone, given)
    assert torch.allclose(jacobian, expected, atol=1e-9)


def test_a_search_too_short_to_find_anything_does_not_say_infeasible():
    graph = FactorGraph()
    x = graph.variables(3)
    for pair in ([0, 1], [1, 2], [0, 2]):
        graph.add(factors.AtMostOne(x[pair]))
    graph.add(factors.Or(x))
    with pytest.raises(ValueError, match="max_nodes is 1, and no permitted assignment was found"):
        graph.lp_map(torch.ones(3), exact=True, max_nodes=1)
    with pytest.raises(ValueError, match="max_nodes is 0"):
        graph.lp_map(torch.ones(3), exact=True, max_nodes=0)
    assert graph.lp_map(torch.ones(3), exact=True).marginals.sum() == 1


def test_functional_gradients_through_a_structure_with_scores_of_its_own():
    scores, cotangent = draw(4, 3, seed=1), draw(4, 3, seed=2)

    def value(scores, transition):
        graph = FactorGraph()
        tags = graph.variables(4, 3)
        graph.add(factors.Chain(tags, transition))
        graph.add(factors.Budget(tags[:, 0], 1))
        return (graph.lp_sparsemap(scores).marginals * cotangent).sum()

    leaves = [scores.clone().requires_grad_(), draw(3, 3, seed=3).requires_grad_()]
    expected = torch.autograd.grad(value(*leaves), leaves)
    found = torch.func.grad(value, argnums=(0, 1))(scores, leaves[1].detach())
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other)


def test_an_exact_answer_is_found_under_transforms_of_functions():
    graph = FactorGraph()
    graph.add(factors.Xor(graph.variables(4)))
    scores = torch.tensor([0.5, -1.0, 2.0, 0.0])
    found = torch.func.grad(lambda given: (graph.lp_map(given, exact=True).marginals * given).sum())(scores)
    assert found.tolist() == [0.0, 0.0, 1.0, 0.0]
