"""What each factor permits, against its definition in words, with negated variables and for small sizes."""

import math

import pytest
import torch
from tests.factor_graph.graphs import draw, every, permitted

import strukt
from strukt import FactorGraph
from strukt.factor_graph import concatenate, factors


def xor_out(y):
    return sum(y[:-1]) <= 1 and y[-1] == sum(y[:-1])


COSTS = [1.5, 0.0, 2.0, 0.5]


def affordable(y):
    return sum(cost * value for cost, value in zip(COSTS, y, strict=False)) <= 2


LOGIC = {
    "Xor": (factors.Xor, lambda y: sum(y) == 1),
    "Or": (factors.Or, any),
    "AtMostOne": (factors.AtMostOne, lambda y: sum(y) <= 1),
    "Imply": (factors.Imply, lambda y: y[-1] or not all(y[:-1])),
    "And": (factors.And, lambda y: y[-1] == all(y[:-1])),
    "OrOut": (factors.OrOut, lambda y: y[-1] == any(y[:-1])),
    "XorOut": (factors.XorOut, xor_out),
    "Budget 0": (lambda x: factors.Budget(x, 0), lambda y: sum(y) == 0),
    "Budget 2": (lambda x: factors.Budget(x, 2), lambda y: sum(y) <= 2),
    "exactly 1": (lambda x: factors.Budget(x, 1, exactly=True), lambda y: sum(y) == 1),
    "Knapsack": (lambda x: factors.Knapsack(x, COSTS[: x.size], 2.0), affordable),
    "RelaxedKnapsack": (lambda x: factors.RelaxedKnapsack(x, COSTS[: x.size], 2.0), affordable),
}
OUT = ("Imply", "And", "OrOut", "XorOut")


@pytest.mark.parametrize("name", LOGIC)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_logic(name, size):
    make, definition = LOGIC[name]
    if name in OUT and size == 1:
        with pytest.raises(ValueError, match=r"(has|is) one variable"):
            make(FactorGraph().variables(1))
        return
    for negated in every(size):
        graph = FactorGraph()
        x = graph.variables(size)
        graph.add(
            make(concatenate([~x[i : i + 1] if flip else x[i : i + 1] for i, flip in enumerate(negated)]))
        )
        wanted = {y for y in every(size) if definition([a ^ b for a, b in zip(y, negated, strict=True)])}
        assert permitted(graph) == wanted


@pytest.mark.parametrize("name", ["And", "OrOut", "XorOut"])
def test_an_output_of_its_own(name):
    make, definition = LOGIC[name]
    graph = FactorGraph()
    x = graph.variables(2, 2)
    graph.add(make(x[1], x[0, 0]))
    assert permitted(graph) == {y for y in every(4) if definition((y[2], y[3], y[0]))}


def test_premises_one_by_one():
    graph = FactorGraph()
    x = graph.variables(4)
    graph.add(factors.Imply(x[:2], ~x[3], x[2]))
    assert permitted(graph) == {y for y in every(4) if y[2] or not (y[0] and y[1] and not y[3])}


def test_dense_forbids_where_its_table_is_minus_infinity():
    table = draw(2, 2, 2)
    table[0, 1, 1] = table[1, 0, 0] = -math.inf
    graph = FactorGraph()
    x = graph.variables(3)
    graph.add(factors.Dense([x[0], ~x[1], x[2]], table))
    found = graph.enumerate(torch.zeros(3, dtype=torch.float64))
    scores = {tuple(y): s for y, s in zip(found.assignments.tolist(), found.scores.tolist(), strict=True)}
    wanted = {y: table[y[0], 1 - y[1], y[2]].item() for y in every(3)}
    assert scores == {y: s for y, s in wanted.items() if s > -math.inf}


def test_dense_over_groups():
    table = draw(2, 3)
    table[1, 0] = -math.inf
    graph = FactorGraph()
    x = graph.variables(5)
    graph.add(factors.Dense([x[:2], x[2:]], table))
    found = graph.enumerate(torch.zeros(5, dtype=torch.float64))
    scores = {tuple(y): s for y, s in zip(found.assignments.tolist(), found.scores.tolist(), strict=True)}
    hot = {y: (y[:2].index(1), y[2:].index(1)) for y in every(5) if sum(y[:2]) == sum(y[2:]) == 1}
    assert scores == {y: table[place].item() for y, place in hot.items() if place != (1, 0)}


def test_the_rows_of_an_array_are_groups():
    graph = FactorGraph()
    factor = graph.add(factors.Dense(graph.variables(2, 3), draw(3, 3)))
    assert [places.tolist() for places in factor.groups()] == [[0, 1, 2], [3, 4, 5]]
    assert len(permitted(graph)) == 9


def test_pairs_earn_their_score_where_both_are_1():
    scores = draw(2)
    graph = FactorGraph()
    x = graph.variables(2, 2)
    graph.add(factors.Pairwise(x[0], ~x[1], scores))
    found = graph.enumerate(torch.zeros(2, 2, dtype=torch.float64))
    for y, s in zip(found.assignments.tolist(), found.scores.tolist(), strict=True):
        assert s == pytest.approx(y[0] * (1 - y[2]) * scores[0].item() + y[1] * (1 - y[3]) * scores[1].item())


STRUCTURES = {
    "Chain": ((3, 2), lambda x: factors.Chain(x, draw(2, 2)), lambda s: strukt.LinearChain(s, draw(2, 2))),
    "Chain by steps": (
        (3, 2),
        lambda x: factors.Chain(x, draw(2, 2, 2)),
        lambda s: strukt.LinearChain(s, draw(1, 2, 2, 2)),
    ),
    "Chain of one": (
        (1, 3),
        lambda x: factors.Chain(x, draw(3, 3)),
        lambda s: strukt.LinearChain(s, draw(3, 3)),
    ),
    "Tree": ((3, 4), factors.Tree, lambda s: strukt.NonProjectiveTree(s, labelled=False)),
    "several roots": (
        (3, 4),
        lambda x: factors.Tree(x, single_root=False),
        lambda s: strukt.NonProjectiveTree(s, single_root=False, labelled=False),
    ),
    "ProjectiveTree": ((3, 4), factors.ProjectiveTree, lambda s: strukt.ProjectiveTree(s, labelled=False)),
    "Matching": ((3, 4), factors.Matching, strukt.Matching),
    "KSubset": (
        (5,),
        lambda x: factors.Structure(x, lambda s: strukt.KSubset(s, (1, 2))),
        lambda s: strukt.KSubset(s, (1, 2)),
    ),
    "BinaryCRF": (
        (4,),
        lambda x: factors.Structure(x, lambda s: strukt.BinaryCRF(s, draw(4, 4))),
        lambda s: strukt.BinaryCRF(s, draw(4, 4)),
    ),
    "SemiMarkov": (
        (3, 2, 2),
        lambda x: factors.Structure(x, lambda s: strukt.SemiMarkov(s, draw(2, 2))),
        lambda s: strukt.SemiMarkov(s, draw(2, 2)),
    ),
}


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("negated", [False, True])
def test_structures_are_enumerated_as_they_are(name, negated):
    shape, make, distribution = STRUCTURES[name]
    graph = FactorGraph()
    x = graph.variables(*shape)
    graph.add(make(~x if negated else x))
    scores = draw(2, *shape, seed=4)
    found = graph.enumerate(scores)
    truth = distribution(-scores if negated else scores)
    shift = scores.flatten(1).sum(-1) if negated else 0.0
    assert torch.allclose(found.log_partition, truth.log_partition + shift)
    assert torch.allclose(found.marginals, 1 - truth.marginals if negated else truth.marginals)
    assert torch.allclose(found.max_score, truth.max_score + shift)
    assert torch.equal(
        found.mode, (1 - truth.to_parts(truth.mode) if negated else truth.to_parts(truth.mode)).long()
    )
    assert torch.allclose(found.entropy, truth.entropy())


class Ordered(factors.Factor):
    """No 1 before a 0; each 1 costs a tenth."""

    def map(self, scores):
        gains = torch.nn.functional.pad((scores - 0.1).flip(-1).cumsum(-1), (1, 0))
        ones = gains.argmax(-1, keepdim=True)
        size = scores.shape[-1]
        return torch.arange(size) >= size - ones

    def score(self, assignments):
        return -0.1 * assignments.sum(-1)


def test_a_factor_that_gives_only_map_and_a_score():
    graph = FactorGraph()
    x = graph.variables(4)
    graph.add(Ordered(concatenate([x[:2], ~x[2:]])))
    found = graph.enumerate(torch.zeros(4, dtype=torch.float64))
    seen = [(y[0], y[1], 1 - y[2], 1 - y[3]) for y in found.assignments.tolist()]
    assert set(seen) == {(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 1), (0, 1, 1, 1), (1, 1, 1, 1)}
    assert torch.allclose(found.scores, torch.tensor([-0.1 * sum(y) for y in seen], dtype=torch.float64))


@pytest.mark.parametrize("knapsack", [factors.Knapsack, factors.RelaxedKnapsack])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_does_not_exceed_a_bound(dtype, knapsack):
    graph = FactorGraph()
    graph.add(knapsack(graph.variables(3), [0.1, 0.2, 0.05], 0.3))
    found = graph.enumerate(torch.zeros(3, dtype=dtype))
    assert found.scores.dtype == dtype
    assert {tuple(y) for y in found.assignments.tolist()} == set(every(3)) - {(1, 1, 1)}
