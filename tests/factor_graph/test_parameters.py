"""Factors whose tensors are parameters of a module: copied, converted and pickled with the module."""

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from strukt import FactorGraph
from strukt.factor_graph import factors


class Scored(nn.Module):
    """A graph with a factor of each kind that has tensors, all of them parameters, and a tree."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        shapes = {"transition": (3, 3), "pairs": (2, 3), "table": (2, 2), "groups": (3, 3)}
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(torch.randn(shape, generator=generator)) for name, shape in shapes.items()}
        )
        self.graph = FactorGraph()
        tags = self.graph.variables(4, 3)
        self.graph.add(factors.Chain(tags, self.weights["transition"]))
        self.graph.add(factors.Pairwise(tags[:2], tags[2:], self.weights["pairs"]))
        self.graph.add(factors.Dense(tags[0, :2], self.weights["table"]))
        self.graph.add(factors.Dense(tags[1::2], self.weights["groups"]))
        self.graph.add(factors.Tree(tags[:2]))
        self.graph.add(factors.ProjectiveTree(tags[2:]))

    def forward(self, scores: Tensor) -> Tensor:
        return self.graph.enumerate(scores).marginals


def scores() -> Tensor:
    return torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


def halved(module: nn.Module) -> None:
    """Change each parameter in place, as an optimiser does."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(-0.5)


@pytest.mark.parametrize("convert", ["double", "data"])
def test_factors_follow_parameters_with_new_data(convert: str) -> None:
    model, expected = Scored(), Scored()
    if convert == "double":
        model.double()
    else:
        for parameter in model.parameters():
            parameter.data = parameter.data.clone()
    halved(model)
    halved(expected)
    result = model(scores())
    assert not torch.allclose(result, Scored()(scores()), atol=1e-3)
    torch.testing.assert_close(result, expected(scores()))
    result.square().sum().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.dtype == parameter.dtype


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_have_their_own_parameters(duplicate: Callable[[Scored], Scored]) -> None:
    model = Scored()
    before = model(scores())
    other = duplicate(model)
    torch.testing.assert_close(other(scores()), before)
    halved(other)
    torch.testing.assert_close(model(scores()), before)
    halved(model)
    torch.testing.assert_close(other(scores()), model(scores()))


def test_factors_made_without_gradients_learn_later() -> None:
    with torch.no_grad():
        model = Scored()
    model(scores()).square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_factors_tell_their_scores_before_a_graph_is_solved() -> None:
    """Tensors keep the axes that the user gave them, and factors read them along those they compute with."""
    x = FactorGraph().variables(4, 3)
    dense = factors.Dense(x[0, :2], torch.tensor([[0.0, 1.0], [2.0, 3.0]]).unsqueeze(0))
    assert dense.assignments.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert dense.log_potential(dense.assignments.unsqueeze(1)).tolist() == [[0], [1], [2], [3]]
    pairs = factors.Pairwise(x[:2], x[2:], torch.arange(6.0).reshape(2, 3))
    assert pairs.scores.tolist() == [0, 1, 2, 3, 4, 5]
    assert pairs.log_potential(torch.ones(1, 1, 12)).tolist() == [[15]]
    chain = factors.Chain(x, torch.arange(9.0).reshape(3, 3))
    first = torch.tensor([[0.0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0]])  # tags 2, 1, 0, 0
    assert chain.expected(first).tolist() == [7 + 3 + 0]
