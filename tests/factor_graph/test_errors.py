"""What does not fit is refused, with what was given and what was expected."""

import re

import pytest
import torch

import strukt
from strukt import FactorGraph
from strukt.errors import OutOfRangeError
from strukt.factor_graph import factors


def refused(message, call):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.fixture
def graph():
    return FactorGraph()


@pytest.fixture
def x(graph):
    return graph.variables(2, 3)


def test_what_is_added(graph, x):
    refused("factor is a Variables; expected a factor, e.g. factors.Xor(variables)", lambda: graph.add(x))
    other = factors.Xor(FactorGraph().variables(2))
    refused(
        "Xor over 2 variables has variables of another graph; expected variables of this one",
        lambda: graph.add(other),
    )
    graph.variables()
    twice = factors.Or([x[1, 2], x[0, 0], ~x[1, 2]])
    refused(
        "Or over 3 variables has variable [1, 2] of array 0 more than once", lambda: graph.add(twice)
    )
    pair = factors.Pairwise(x[0], x[[0, 0, 1], [1, 1, 1]], torch.zeros(3))
    refused(
        "Pairwise over 6 variables has variable [0, 1] of array 0 more than once",
        lambda: graph.add(pair),
    )
    assert graph.factors == ()


def test_pairs_may_share_variables(graph, x):
    factor = factors.Pairwise(x[0, :2], x[0, 1:], torch.zeros(2))
    assert graph.add(factor) is factor
    assert graph.factors == (factor,)


def test_a_factor_without_variables(graph, x):
    refused("Xor has no variables; expected at least one", lambda: factors.Xor(x[:0]))

    class Forgetful(factors.Factor):
        def __init__(self):
            pass

        def map(self, scores):
            return scores

    refused(
        "Forgetful has no variables; call super().__init__(variables) in its constructor",
        lambda: graph.add(Forgetful()),
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: factors.Budget(x, -1), "budget is -1; expected a whole number of 0 or more"),
        (lambda x: factors.Budget(x, 1.5), "budget is 1.5; expected a whole number of 0 or more"),
        (lambda x: factors.Budget(x, True), "budget is True; expected a whole number of 0 or more"),
        (lambda x: factors.Budget(x, 7, exactly=True), "budget is 7, but there are only 6 variables"),
        (lambda x: factors.Budget(x, 2, exactly="no"), "exactly is 'no'; expected True or False"),
        (
            lambda x: factors.Knapsack(x, [1.0], 1),
            "costs has 1 entries for 6 variables; expected one for each",
        ),
        (
            lambda x: factors.Knapsack(x[0], [1, -2, 1], 1),
            "costs holds -2.0; expected finite numbers of 0 or more",
        ),
        (lambda x: factors.Knapsack(x[0], [1, 2, 1], -1), "budget is -1; expected a finite number of 0 or more"),
        (
            lambda x: factors.Knapsack(x[0], [1, 2, 1], float("inf")),
            "budget is inf; expected a finite number of 0 or more",
        ),
        (lambda x: factors.Imply(x[0, 0]), "Imply has one variable; expected premises and a conclusion"),
        (lambda x: factors.And(x[0, 0]), "inputs has one variable; expected at least one input, and an output"),
        (lambda x: factors.OrOut(x[0], x[1]), "output has 3 variables; expected one"),
        (
            lambda x: factors.Pairwise(x[0], x[1, :2], torch.zeros(3)),
            "a has shape (3,) and b (2,); expected the same",
        ),
        (
            lambda x: factors.Pairwise(x[0], x[1], torch.zeros(2)),
            "scores has shape (2,); expected batch + (3,)",
        ),
        (
            lambda x: factors.Pairwise(x[0], x[1], torch.zeros(3).long()),
            "scores has dtype torch.int64; expected a floating",
        ),
        (
            lambda x: factors.Pairwise(x[0], x[1], [0.0] * 3),
            "scores is a list; expected a floating-point tensor",
        ),
        (
            lambda x: factors.Dense(x[0], torch.zeros(2, 2)),
            "table has shape (2, 2); expected batch + (2, 2, 2)",
        ),
        (
            lambda x: factors.Dense([x[0], x[1]], torch.zeros(2, 2)),
            "table has shape (2, 2); expected batch + (3, 3)",
        ),
        (
            lambda x: factors.Dense([x, x], torch.zeros(6, 6)),
            "a group has shape (2, 3); expected variables along one axis",
        ),
        (lambda x: factors.Chain(x[0], torch.zeros(3, 3)), "tags has shape (3,); expected (n, c)"),
        (
            lambda x: factors.Chain(x, torch.zeros(2, 2)),
            "transition has shape (2, 2); expected (3, 3), batch + (1, 3, 3)",
        ),
        (
            lambda x: factors.Chain(x, torch.zeros(4, 3, 3)),
            "transition has shape (4, 3, 3); expected (3, 3), batch +",
        ),
        (lambda x: factors.Tree(x.T), "arcs has shape (3, 2); expected (n, n + 1)"),
        (lambda x: factors.ProjectiveTree(x[0]), "arcs has shape (3,); expected (n, n + 1)"),
        (lambda x: factors.Matching(x.T), "variables has shape (3, 2); expected (n, m) with n <= m"),
    ],
)
def test_arguments_of_factors(x, make, message):
    refused(message, lambda: make(x))


def test_scores(graph, x):
    refused("scores has shape (3, 2); expected batch + (2, 3)", lambda: graph.enumerate(torch.zeros(3, 2)))
    refused("scores has shape (3,); expected batch + (2, 3)", lambda: graph.enumerate(torch.zeros(3)))
    refused(
        "scores has dtype torch.int64; expected a floating-point tensor",
        lambda: graph.enumerate(torch.zeros(2, 3).long()),
    )
    refused("scores[0] is a list; expected a floating-point tensor", lambda: graph.enumerate([[0.0]]))
    refused(
        "got 2 score tensors for 1 arrays of variables; expected one for each",
        lambda: graph.enumerate((torch.zeros(2, 3),) * 2),
    )
    graph.variables(2)
    refused("got 1 score tensors for 2 arrays of variables", lambda: graph.enumerate(torch.zeros(2, 3)))
    refused(
        "scores[1] has shape (3,); expected batch + (2,)",
        lambda: graph.enumerate((torch.zeros(2, 3), torch.zeros(3))),
    )
    refused(
        "the batch axes of the score tensors do not broadcast: (4,), (5,)",
        lambda: graph.enumerate((torch.zeros(4, 2, 3), torch.zeros(5, 2))),
    )
    graph.add(factors.Dense(x[0, :2], torch.zeros(3, 2, 2)))
    refused(
        "the batch axes of the scores and the factors' tensors do not broadcast: (4,), (3,)",
        lambda: graph.enumerate((torch.zeros(4, 2, 3), torch.zeros(2))),
    )
    refused(
        "the graph has no variables; create some with graph.variables(...)", lambda: FactorGraph().enumerate([])
    )


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_values_of_scores(graph, x, bad):
    scores = torch.zeros(2, 2, 3)
    scores[1, 0, 2] = bad
    refused(f"scores holds {bad} at batch item 1, position (2,)", lambda: graph.enumerate(scores))


def test_structures_that_do_not_fit(graph, x):
    graph.add(factors.Structure(x, lambda scores: scores))
    refused(
        "make returned a Tensor; expected a StructuredDistribution", lambda: graph.enumerate(torch.zeros(2, 3))
    )
    graph = FactorGraph()
    graph.add(factors.Structure(graph.variables(4), lambda scores: strukt.KSubset(scores[..., :3], 1)))
    refused(
        "for scores of shape (4,); expected main scores of this shape",
        lambda: graph.enumerate(torch.zeros(4)),
    )


class Wrong(factors.Factor):
    def __init__(self, variables, answer, value=None):
        super().__init__(variables)
        self.answer, self.value = answer, value

    def map(self, scores):
        return self.answer(scores)

    def score(self, assignments):
        return super().score(assignments) if self.value is None else self.value(assignments)


@pytest.mark.parametrize(
    ("answer", "value", "message"),
    [
        (
            lambda s: s[:, :1] > 0,
            None,
            "map of Wrong returned shape (1, 1) for scores of shape (1, 6); expected an assignment of the same",
        ),
        (lambda s: None, None, "map of Wrong returned a NoneType for scores of shape (1, 6)"),
        (lambda s: s, None, "map of Wrong returned numbers other than 0 and 1"),
        (
            lambda s: s > 0,
            lambda a: a,
            "score of Wrong returned shape (64, 1, 6) for assignments of shape (64, 1, 6); expected (64,",
        ),
        (lambda s: s > 0, lambda a: 0.0, "score of Wrong returned a float for assignments of shape (64, 1, 6)"),
    ],
)
def test_factors_of_a_user_that_do_not_fit(graph, x, answer, value, message):
    graph.add(Wrong(x, answer, value))
    refused(message, lambda: graph.enumerate(torch.zeros(2, 3)))


def test_a_factor_must_give_map():
    with pytest.raises(TypeError, match="map"):
        factors.Factor(FactorGraph().variables(2))


@pytest.mark.parametrize("solver", ["enumerate", "lp_sparsemap", "lp_map", "belief_propagation", "mean_field"])
@pytest.mark.parametrize("wrong", [torch.nan, torch.inf, 1e16])
def test_scores_of_factors_out_of_range(graph, solver, wrong):
    x = graph.variables(2)
    graph.add(factors.Pairwise(x[:1], x[1:], torch.tensor([[0.0], [wrong]])))
    with pytest.raises(OutOfRangeError, match=r"^scores of Pairwise .* at batch item 1, position \(0,\); exp"):
        getattr(graph, solver)(torch.zeros(2))
    other = FactorGraph()
    other.add(factors.Dense(other.variables(2), torch.tensor([[0.0, wrong], [0.0, 0.0]])))
    with pytest.raises(OutOfRangeError, match=r"^table of Dense .* at batch item 0, position \(0, 1\); exp"):
        getattr(other, solver)(torch.zeros(2))
