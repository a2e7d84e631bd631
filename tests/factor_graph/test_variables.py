"""Arrays of variables behave as NumPy's."""

import numpy as np
import pytest
import torch

from strukt import FactorGraph
from strukt.factor_graph import concatenate, factors
from strukt.factor_graph.variables import collect


@pytest.fixture
def x():
    return FactorGraph().variables(3, 4)


def test_indexing_is_numpys(x):
    whole = np.arange(12).reshape(3, 4)
    assert (x.index == whole).all()
    for key in (
        1,
        slice(1, None),
        (slice(None), 2),
        ...,
        None,
        [0, 2],
        ([0, 1], [2, 3]),
        whole % 2 == 0,
        torch.tensor([2]),
    ):
        assert (x[key].index == whole[key]).all()
        assert x[key].shape == whole[key].shape == x[key].negated.shape
    assert (x.T.index == whole.T).all()
    assert (x.reshape(2, 6).index == whole.reshape(2, 6)).all()
    assert (x.reshape((4, -1)).index == whole.reshape(4, 3)).all()
    assert (x.flatten().index == whole.ravel()).all()
    assert (len(x), x.ndim, x.size) == (3, 2, 12)
    assert [row.index.tolist() for row in x] == whole.tolist()
    assert x[0, 1].shape == ()


def test_negation_goes_with_the_variable(x):
    assert (~x).negated.all()
    assert not (~~x).negated.any()
    mixed = concatenate([x[0], ~x[1]])
    assert mixed.negated.tolist() == [False] * 4 + [True] * 4
    assert mixed[3:5].negated.tolist() == [False, True]
    assert (~mixed.reshape(2, 4).T).negated[0].tolist() == [True, False]
    assert not x.negated.any()


def test_arrays_follow_each_other():
    graph = FactorGraph()
    graph.variables(2, 3)
    assert graph.variables(2).index.tolist() == [6, 7]
    assert graph.variables().index.tolist() == 8


def test_lists_are_stacked_or_joined(x):
    assert collect([x[0], x[2]], "x").shape == (2, 4)
    assert collect([x[0, 1], ~x[0, 2]], "x").index.tolist() == [1, 2]
    assert collect([x[0], x[1, :2]], "x").index.tolist() == [0, 1, 2, 3, 4, 5]
    assert collect([[x[0, 0], x[0, 1]], [x[1, 0], x[1, 1]]], "x").shape == (2, 2)
    assert collect((x,), "x").shape == (1, 3, 4)
    assert concatenate([x[:, :1], x[:, 2:]], axis=1).shape == (3, 3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.zeros(3), "variables is a Tensor; expected Variables of a graph, or a list of them"),
        (3, "variables is a int; expected Variables of a graph, or a list of them"),
        ([], "variables is empty; expected Variables of a graph, or a list of them"),
        ("xy", "variables is a str; expected"),
    ],
)
def test_what_is_no_variable_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        factors.Xor(value)


def test_graphs_do_not_mix(x):
    with pytest.raises(
        ValueError, match="variables holds variables of different graphs; expected variables of one"
    ):
        factors.Xor([x[0, 0], FactorGraph().variables(2)[0]])
    other, score = FactorGraph().variables(1), torch.zeros(1)
    for make, names in (
        (lambda: factors.Pairwise(x[0, :1], other, score), r"\(a, b\)"),
        (lambda: factors.OrOut(x[0], output=other), r"\(inputs, output\)"),
        (lambda: factors.Imply(x[0], other), "variables"),
        (lambda: factors.Dense([x[0], other], torch.zeros(4, 1)), "variables"),
    ):
        with pytest.raises(ValueError, match=f"^{names} holds variables of different graphs"):
            make()
    with pytest.raises(ValueError, match="parts holds a Tensor; expected Variables"):
        concatenate([torch.zeros(2)])


@pytest.mark.parametrize("shape", [(0,), (2, -1), (2.0,), (True,), ("3",)])
def test_shapes_are_whole_numbers(shape):
    with pytest.raises(
        ValueError, match=r"the shape of variables is \(.*\); expected whole numbers of 1 or more"
    ):
        FactorGraph().variables(*shape)
