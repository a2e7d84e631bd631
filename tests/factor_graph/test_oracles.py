"""The layout of each factor, and the oracles of those without a closed form, against brute force."""

import numpy as np
import pytest
import torch
from tests.factor_graph.graphs import draw

import strukt
from strukt import FactorGraph
from strukt.distributions import LinearChain
from strukt.factor_graph import factors
from strukt.factor_graph.compile import compile_graph
from strukt.inference.lp_sparsemap.graph import BAND, OR_OUT, ORACLE, PAIR
from strukt.inference.lp_sparsemap.oracles import MOST_CALLS

INF = np.inf


def layout_of(make, *shape):
    graph = FactorGraph()
    graph.add(make(graph.variables(*shape)))
    return graph.layout


@pytest.mark.parametrize(
    ("make", "copies", "negated", "low", "high"),
    [
        (factors.Xor, [0, 1, 2], [0, 0, 0], 1, 1),
        (factors.Or, [0, 1, 2], [0, 0, 0], 1, INF),
        (factors.AtMostOne, [0, 1, 2], [0, 0, 0], -INF, 1),
        (factors.Imply, [0, 1, 2], [1, 1, 0], 1, INF),
        (factors.XorOut, [0, 1, 2], [0, 0, 1], 1, 1),
        (lambda x: factors.XorOut(x[1:], x[0]), [1, 2, 0], [0, 0, 1], 1, 1),
        (lambda x: factors.Budget(x, 2), [0, 1, 2], [0, 0, 0], -INF, 2),
        (lambda x: factors.Budget(~x[::-1], 2, exactly=True), [2, 1, 0], [1, 1, 1], 2, 2),
    ],
)
def test_layout_of_bands(make, copies, negated, low, high):
    found = layout_of(make, 3)
    assert found.kinds.tolist() == [BAND]
    assert found.copies.tolist() == copies
    assert found.negated.tolist() == [bool(flip) for flip in negated]
    assert (found.low.tolist(), found.high.tolist()) == ([low], [high])
    assert found.costs.tolist() == [1.0] * 3
    assert found.pair.tolist() == [-1]
    assert found.starts.tolist() == [0, 3]
    assert found.variables == 3


def test_layout_of_a_knapsack():
    found = layout_of(lambda x: factors.RelaxedKnapsack(x, torch.tensor([[1.0, 2.5]]), 3), 1, 2)
    assert (found.kinds.tolist(), found.costs.tolist(), found.high.tolist()) == ([BAND], [1.0, 2.5], [3.0])
    assert found.low.tolist() == [-INF]


def test_layout_of_outputs():
    found = layout_of(lambda x: factors.OrOut(x[1:], ~x[0]), 3)
    assert (found.kinds.tolist(), found.copies.tolist()) == ([OR_OUT], [1, 2, 0])
    assert found.negated.tolist() == [False, False, True]
    found = layout_of(lambda x: factors.And(x[1:], ~x[0]), 3)
    assert (found.kinds.tolist(), found.copies.tolist()) == ([OR_OUT], [1, 2, 0])
    assert found.negated.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda x: factors.Dense(x, torch.zeros(2, 2)), (2,)),
        (lambda x: factors.Knapsack(x, [1.0, 1.0, 1.0], 2), (3,)),
        (lambda x: factors.Chain(x, torch.zeros(3, 3)), (2, 3)),
        (factors.Tree, (2, 3)),
        (factors.ProjectiveTree, (2, 3)),
        (factors.Matching, (2, 3)),
        (lambda x: factors.Structure(x, lambda s: strukt.KSubset(s, 2)), (4,)),
    ],
)
def test_layout_of_oracles(make, shape):
    found = layout_of(make, *shape)
    size = int(np.prod(shape))
    assert (found.kinds.tolist(), found.starts.tolist()) == ([ORACLE], [0, size])
    assert found.copies.tolist() == list(range(size))
    assert found.costs.tolist() == [1.0] * size


def test_layout_of_a_whole_graph():
    graph = FactorGraph()
    x = graph.variables(2, 2)
    y = graph.variables(3)
    graph.add(factors.Pairwise(x[0], ~y[:2], torch.tensor([1.0, 2.0])))
    graph.add(factors.Xor(y))
    graph.add(factors.Pairwise(x[1, 0], x[1, 1], torch.tensor([[3.0], [4.0]]).squeeze(-1)))
    graph.add(factors.Dense(y[:2], torch.zeros(2, 2)))
    found = graph.layout
    assert found.kinds.tolist() == [PAIR, PAIR, BAND, PAIR, ORACLE]
    assert found.starts.tolist() == [0, 2, 4, 7, 9, 11]
    assert found.copies.tolist() == [0, 4, 1, 5, 4, 5, 6, 2, 3, 4, 5]
    assert found.negated.nonzero()[0].tolist() == [1, 3]
    assert found.pair.tolist() == [0, 1, -1, 2, -1]
    assert found.variables == 7
    problem = compile_graph(graph.arrays, graph.factors, graph.layout, (torch.zeros(2, 2), torch.zeros(3)))
    assert problem.batch_shape == (2,)
    assert problem.scores.shape == (2, 7)
    assert problem.pair_scores.tolist() == [[1, 2, 3], [1, 2, 4]]
    assert len(problem.oracles) == 1
    kinds = {
        field: getattr(found, field).dtype for field in ("copies", "negated", "costs", "low", "kinds", "pair")
    }
    assert kinds == {
        "copies": np.int64,
        "negated": np.bool_,
        "costs": np.float64,
        "low": np.float64,
        "kinds": np.int64,
        "pair": np.int64,
    }


def test_a_graph_without_factors_has_an_empty_layout():
    graph = FactorGraph()
    graph.variables(2)
    found = graph.layout
    assert (found.copies.shape, found.negated.dtype, found.starts.tolist()) == ((0,), np.bool_, [0])


class Majority(factors.Factor):
    """All 0, or at least two 1; the k-th 1 earns its weight."""

    def __init__(self, variables, weights):
        super().__init__(variables)
        self.weights = weights

    def map(self, scores):
        total = scores + self.weights
        best = (total > 0) | (total >= total.topk(2, -1).values[..., 1:])
        return best & ((best * total).sum(-1, keepdim=True) > 0)

    def score(self, assignments):
        return assignments @ self.weights


DENSE = draw(2, 2, 2, seed=5)
DENSE[1, 1, 0] = -INF
ORACLES = {
    "Dense": (lambda x: factors.Dense(x, DENSE), (3,)),
    "groups": (lambda x: factors.Dense([x[:2], x[2:]], draw(2, 3, seed=6)), (5,)),
    "Dense by item": (lambda x: factors.Dense(x, draw(3, 2, 2, seed=7)), (2,)),
    "Chain": (lambda x: factors.Chain(x, draw(2, 2, seed=8)), (3, 2)),
    "Chain by item": (lambda x: factors.Chain(x, draw(3, 1, 2, 2, seed=8)), (3, 2)),
    "Chain by item and step": (lambda x: factors.Chain(x, draw(3, 2, 2, 2, seed=8)), (3, 2)),
    "Tree": (factors.Tree, (3, 4)),
    "ProjectiveTree": (lambda x: factors.ProjectiveTree(x, single_root=False), (3, 4)),
    "Matching": (factors.Matching, (2, 3)),
    "BinaryCRF": (lambda x: factors.Structure(x, lambda s: strukt.BinaryCRF(s, draw(3, 3, seed=9))), (3,)),
    "offset": (lambda x: factors.Structure(x, lambda s: strukt.KSubset(s + draw(4, seed=10), (1, 2))), (4,)),
    "Knapsack": (lambda x: factors.Knapsack(x, [1.0, 0.7, 0.4, 1.1], 1.5), (4,)),
    "user": (lambda x: Majority(x, draw(4, seed=11)), (4,)),
}
BATCH = 3


@pytest.fixture(params=ORACLES)
def oracle(request):
    """An oracle, scores for it, and all assignments ``(k, size)`` with their local scores ``(k, batch)``."""
    make, shape = ORACLES[request.param]
    graph = FactorGraph()
    graph.add(make(graph.variables(*shape)))
    scores = draw(BATCH, *shape, seed=12)
    problem = compile_graph(graph.arrays, graph.factors, graph.layout, scores)
    found = graph.enumerate(torch.zeros_like(scores))
    return problem.oracles[0], scores.flatten(1), found.assignments.double(), found.scores.T


def test_best_is_the_best_of_all(oracle):
    asked, scores, assignments, own = oracle
    total = assignments @ scores.T + own
    best = asked.best(scores)
    assert best.dtype == scores.dtype
    assert torch.equal(best, assignments[total.argmax(0)])


def test_a_score_of_minus_infinity_forbids_a_1(oracle):
    asked, scores, assignments, own = oracle
    scores = scores.clone()
    scores[range(BATCH), scores.argmax(-1)] = -INF
    total = torch.where(assignments.unsqueeze(1) > 0, scores, 0.0).sum(-1) + own
    best = asked.best(scores)
    assert torch.equal(best, assignments[total.argmax(0)])
    face = asked.project(scores, torch.ones(BATCH, dtype=torch.float64), None, MOST_CALLS)
    assert (face.point[scores == -INF] == 0).all()


def test_local_scores_are_those_of_the_enumeration(oracle):
    asked, _, assignments, own = oracle
    everywhere = assignments.unsqueeze(1).expand(-1, BATCH, -1)
    possible = own > -INF
    assert torch.allclose(asked.local_scores(everywhere)[possible], own[possible])


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (0.25, 1.0, 7.0)])
def test_projection_is_the_nearest_mean_of_assignments(oracle, scale):
    asked, scores, assignments, own = oracle
    face = asked.project(scores, torch.tensor(scale, dtype=torch.float64), None, MOST_CALLS)
    assert face.weights.shape == face.scores.shape == face.vertices.shape[:2]
    assert torch.allclose(face.weights.sum(-1), torch.ones(BATCH, dtype=torch.float64))
    assert torch.allclose(torch.einsum("bk,bks->bs", face.weights, face.vertices), face.point)
    assert torch.allclose(asked.local_scores(face.vertices.movedim(1, 0)).T, face.scores)
    for item in range(BATCH):
        possible = own[:, item] > -INF
        points, values = assignments[possible], own[possible, item] / scale[item]
        assert all((points == vertex).all(-1).any() for vertex in face.vertices[item])
        gains = points @ (scores[item] - face.point[item]) + values
        used = face.vertices[item] @ (scores[item] - face.point[item]) + face.scores[item] / scale[item]
        assert gains.max() <= (face.weights[item] * used).sum() + 1e-9  # no assignment would do better


def test_local_scores_are_differentiable():
    table = draw(2, 2).requires_grad_()
    graph = FactorGraph()
    graph.add(factors.Dense(graph.variables(2), table))
    problem = compile_graph(graph.arrays, graph.factors, graph.layout, torch.zeros(2, dtype=torch.float64))
    vertices = torch.tensor([[[0.0, 1.0]], [[1.0, 1.0]]], dtype=torch.float64)
    (gradient,) = torch.autograd.grad(problem.oracles[0].local_scores(vertices).sum(), table)
    assert gradient.tolist() == [[0, 1], [0, 1]]

    transition = draw(2, 2).requires_grad_()
    graph = FactorGraph()
    graph.add(factors.Chain(graph.variables(3, 2), transition))
    problem = compile_graph(graph.arrays, graph.factors, graph.layout, torch.zeros(3, 2, dtype=torch.float64))
    vertices = torch.tensor([[[1.0, 0.0, 0.0, 1.0, 0.0, 1.0]]], dtype=torch.float64)
    (gradient,) = torch.autograd.grad(problem.oracles[0].local_scores(vertices).sum(), transition)
    assert gradient.tolist() == [[0, 1], [0, 1]]


def test_a_projection_starts_where_the_last_one_ended(oracle):
    asked, scores, _, _ = oracle
    scale = torch.ones(BATCH, dtype=torch.float64)
    calls = []
    best = asked.best
    asked.best = lambda main: calls.append(main) or best(main)
    cold = asked.project(scores, scale, None, MOST_CALLS)
    needed = len(calls)
    warm = asked.project(scores, scale, cold, MOST_CALLS)
    assert torch.allclose(warm.point, cold.point, atol=1e-9)
    assert len(calls) - needed < max(needed, 1)  # a structure asks its kernel
    moved = asked.project(scores + 0.5 * draw(*scores.shape, seed=13), scale, cold, MOST_CALLS)
    again = asked.project(scores + 0.5 * draw(*scores.shape, seed=13), scale, None, MOST_CALLS)
    assert torch.allclose(moved.point, again.point, atol=1e-9)


def test_a_projection_without_a_permitted_assignment():
    graph = FactorGraph()
    graph.add(factors.Dense(graph.variables(2), torch.full((2, 2), -INF)))
    problem = compile_graph(graph.arrays, graph.factors, graph.layout, torch.zeros(1, 2, dtype=torch.float64))
    with pytest.raises(strukt.InfeasibleError, match="batch item 0"):
        problem.oracles[0].project(problem.scores, torch.ones(1, dtype=torch.float64), None, MOST_CALLS)


def test_stopped_early_no_trial_is_given_that_was_no_better():
    """More iterations never lead further away from the solution than the first few."""
    scores = torch.randn(6, 5, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    columns = torch.arange(7)
    neighbours = ((columns.unsqueeze(1) - columns).abs() == 1).double()
    graph = FactorGraph()
    pairs = graph.variables(5, 7)
    graph.add(factors.Structure(pairs, lambda main: LinearChain(main, neighbours)))
    for column in pairs.T:
        graph.add(factors.AtMostOne(column))
    exact = graph.lp_sparsemap(scores).marginals
    for most in range(4, 24):
        found = graph.lp_sparsemap(scores, max_iterations=most).marginals
        assert (found - exact).abs().max() < 0.3
