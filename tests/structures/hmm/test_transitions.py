"""Transition operators: what their factors multiply to, what is left out, and what they learn from counts."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.structures.hmm.enumerated_hmm import KINDS, normal, transition_of, transition_parameters
from torch.autograd import gradcheck, gradgradcheck

from strukt import HMM, Banded, Dense, LowRank
from strukt.kernels.semiring import logsumexp
from strukt.structures.hmm import band as bands
from strukt.structures.hmm.logits import softmax, updated
from strukt.structures.hmm.steps import steps


def weights_of(kind, parameters):
    """The unnormalised matrix by its definition, entry by entry."""
    z = len(parameters[0])
    if kind == "dense":
        return parameters[0].exp()
    total = torch.zeros(z, z, dtype=torch.float64)
    if "low rank" in kind:
        source, target = parameters[:2]
        total += (source.unsqueeze(1) + target.unsqueeze(0)).exp().sum(2)
    if "band" in kind:
        band, w = parameters[-1], parameters[-1].shape[1] // 2
        for i in range(z):
            for d in range(2 * w + 1):
                if 0 <= i + d - w < z:
                    total[i, i + d - w] += band[i, d].exp()
    return total


@given(
    kind=st.sampled_from(KINDS),
    z=st.integers(1, 40),
    r=st.integers(1, 5),
    w=st.integers(0, 20),
    seed=st.integers(0, 9),
)
def test_matrices_and_steps_are_those_of_the_definition(kind, z, r, w, seed):
    parameters = transition_parameters(kind, z, r, w, seed)
    weights = weights_of(kind, parameters)
    expected = weights / weights.sum(1, keepdim=True)
    operator = transition_of(kind, parameters)
    assert operator.states == z
    assert torch.allclose(operator.dense(), expected, rtol=1e-10)
    moving, rows = steps(*operator.factors()), normal(3, z, seed=seed)
    assert torch.allclose(moving.advance(moving.message(rows)), rows @ expected, atol=1e-10)


@given(z=st.integers(1, 70), w=st.integers(0, 40), batch=st.integers(0, 3), seed=st.integers(0, 9))
def test_products_with_bands(z, w, batch, seed):
    band, rows, others = normal(z, 2 * w + 1, seed=seed), normal(batch, z, seed=1), normal(batch, z, seed=2)
    matrix = torch.zeros(z, z, dtype=torch.float64)
    for i in range(z):
        for j in range(max(i - w, 0), min(i + w + 1, z)):
            matrix[i, j] = band[i, j - i + w]
    blocks = bands.to_blocks(band)
    assert torch.allclose(bands.dense(band), matrix)
    assert torch.allclose(bands.times(rows, blocks), rows @ matrix)
    assert torch.allclose(bands.times_transpose(rows, blocks), rows @ matrix.mT)
    inside = matrix != 0
    outer = bands.windows(rows, blocks).mT @ bands.groups_of(others, blocks)
    found = bands.dense(bands.from_blocks(outer, band))
    assert torch.allclose(found, torch.where(inside, rows.mT @ others, 0.0))
    assert torch.equal(bands.dense(bands.from_blocks(blocks, band)), matrix)


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_are_differentiable_twice(kind):
    leaves = [value.requires_grad_() for value in transition_parameters(kind, 4)]

    def matrix(*leaves):
        return transition_of(kind, list(leaves)).dense()

    assert gradcheck(matrix, leaves)
    assert gradgradcheck(matrix, leaves, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
def test_some_of_the_states_alone(kind):
    parameters = transition_parameters(kind, 8, 3, 2)
    states = torch.tensor([0, 1, 4, 5, 7])
    weights = weights_of(kind, parameters)[states][:, states]
    found = transition_of(kind, parameters).select(states)
    assert torch.allclose(found.dense(), weights / weights.sum(1, keepdim=True), atol=1e-12)


def test_states_without_neighbours_have_no_successor():
    """Of a band only: those beyond its reach are no neighbours because those between them were left out."""
    found = Banded(torch.zeros(5, 3)).select(torch.tensor([0, 1, 3]))
    assert found.dense().tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]


def test_some_of_the_features_alone():
    source, target, band = transition_parameters("low rank and band", 5, 4)
    features = torch.tensor([0, 3])
    found = LowRank(source, target, band).select_features(features).dense()
    assert torch.allclose(found, LowRank(source[:, features], target[:, features], band).dense())
    assert not torch.allclose(found, LowRank(source, target, band).dense())


@pytest.mark.parametrize("scale", [1.0, 60.0, 200.0, 1e4])
def test_features_of_any_size_stay_between_zero_and_one(scale):
    source, target = scale * normal(30, 6), scale * normal(30, 6, seed=1)
    expected = (source.unsqueeze(1) + target).logsumexp(2).softmax(1)
    leaves = [source.float().requires_grad_(), target.float().requires_grad_()]
    (leaving, landing), band = LowRank(*leaves).factors()
    assert band is None
    for factor in (leaving, landing):
        assert ((factor >= 0) & (factor <= 1)).all()
        assert torch.allclose(factor.sum(1), torch.ones(()), atol=1e-5)
    found = leaving @ landing
    assert torch.allclose(found.double(), expected, atol=1e-5 + 1e-7 * scale)
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(found.square().sum(), leaves))


def test_softmax_and_total_where_all_is_forbidden():
    logits = torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf]], requires_grad=True)
    assert softmax(logits, 1).tolist() == [[1, 0], [0, 0]]
    total = logsumexp(logits, 1)
    assert total.tolist() == [0, -math.inf]
    assert torch.autograd.grad(total[0] + softmax(logits, 1).sum(), logits)[0].tolist() == [[1, 0], [0, 0]]


def test_log_probabilities_from_counts():
    logits = torch.tensor([[5.0, 6.0], [7.0, 8.0]])
    found = updated(logits, torch.tensor([[1.0, 3.0], [0.0, 0.0]]), 1)
    assert torch.allclose(found[0].exp(), torch.tensor([0.25, 0.75]))
    assert found[1].tolist() == [7, 8]


@pytest.mark.parametrize("factor", [0, 3], ids=["no counts", "counts"])
@pytest.mark.parametrize("kind", KINDS)
def test_counts_in_proportion_to_the_factors_change_nothing(kind, factor):
    operator = transition_of(kind, transition_parameters(kind, 5, 3))
    matrices, band = operator.factors()
    again = operator.maximised(
        tuple(factor * matrix for matrix in matrices), None if band is None else factor * band
    )
    assert torch.allclose(again.dense(), operator.dense(), rtol=1e-10)


def test_an_operator_of_your_own():
    """A model needs the factors of an operator only."""

    class Cycle(Dense):
        def factors(self):
            return (torch.eye(3, dtype=self.dtype).roll(1, 1),), None

    emission = torch.tensor([[9.0, 0, 0], [0, 9.0, 0], [0, 0, 9.0]])
    hmm = HMM(torch.zeros(3), Cycle(torch.zeros(3, 3)), emission)
    assert hmm.viterbi(torch.tensor([2, 0, 0, 2]))[0].tolist() == [2, 0, 1, 2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dense(torch.zeros(3)), "transition has shape (3,); expected (z, z)"),
        (lambda: LowRank(torch.zeros(3, 2), torch.zeros(3, 3)), "source has shape (3, 2) and target (3, 3)"),
        (lambda: LowRank(torch.zeros(3, 0), torch.zeros(3, 0)), "expected (z, r) each"),
        (lambda: Banded(torch.zeros(3, 2)), "band has shape (3, 2); expected (3, 2 w + 1), an odd number"),
        (
            lambda: LowRank(torch.zeros(3, 2), torch.zeros(3, 2), torch.zeros(4, 3)),
            "band has shape (4, 3); expected (3, 2 w + 1)",
        ),
    ],
)
def test_errors_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()
