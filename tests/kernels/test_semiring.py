"""The laws of semirings, and sums that stay right at -inf."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from strukt.kernels import semiring as semirings
from strukt.kernels.semiring import NEG_INF, Semiring, log_softmax, logsumexp

RINGS = {
    "log": semirings.Log(),
    "counting": semirings.Counting(),
    "max": semirings.Max(),
    "k-max": semirings.KMax(3),
    "entropy": semirings.Entropy(),
}
scores = st.one_of(st.just(NEG_INF), st.floats(-1e4, 1e4))


def lifted(ring: Semiring, given: Tensor) -> Tensor:
    return ring.weigh(ring.one(given), given)


@pytest.mark.parametrize("ring", RINGS.values(), ids=RINGS.keys())
@given(st.lists(scores, min_size=3, max_size=3))
def test_laws(ring, numbers):
    a, b, c = lifted(ring, torch.tensor(numbers, dtype=torch.float64)).unbind(-1)

    def plus(*values: Tensor) -> Tensor:
        return ring.sum(torch.stack([v.unsqueeze(-1) for v in values], -1), -1).squeeze(-1)

    def check(left: Tensor, right: Tensor) -> None:
        torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-10)

    def times(left: Tensor, right: Tensor) -> Tensor:
        return ring.times(left.unsqueeze(-1), right.unsqueeze(-1)).squeeze(-1)

    one = ring.one(torch.zeros((), dtype=torch.float64))
    check(plus(a, b), plus(b, a))
    check(plus(plus(a, b), c), plus(a, b, c))
    check(times(a, one), a)
    check(times(a, times(b, c)), times(times(a, b), c))
    if not isinstance(ring, semirings.Entropy) or all(n > NEG_INF for n in numbers):
        check(times(a, plus(b, c)), plus(times(a, b), times(a, c)))


@given(st.lists(scores, min_size=1, max_size=6))
def test_logsumexp_is_the_textbook_one(numbers):
    x = torch.tensor(numbers, dtype=torch.float64)
    torch.testing.assert_close(logsumexp(x, -1), torch.logsumexp(x, -1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("forbidden", [[], [0], [0, 2], [0, 1, 2]])
def test_derivatives_at_minus_infinity_are_zero_to_second_order(forbidden):
    x = torch.randn(3, dtype=torch.float64)
    x[forbidden] = NEG_INF
    x.requires_grad_()
    (first,) = torch.autograd.grad(logsumexp(x, -1), x, create_graph=True)
    (second,) = torch.autograd.grad((first * torch.randn(3)).sum(), x)
    assert torch.isfinite(first).all()
    assert torch.isfinite(second).all()
    assert (first[forbidden] == 0).all()
    assert (second[forbidden] == 0).all()
    allowed = [i for i in range(3) if i not in forbidden]
    torch.testing.assert_close(first[allowed], x[allowed].softmax(-1))


def test_logsumexp_passes_gradcheck_twice():
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: logsumexp(x, -2), x)
    assert torch.autograd.gradgradcheck(lambda x: logsumexp(x, -2), x)


def test_log_softmax_of_nothing_is_nothing():
    assert (log_softmax(torch.full((2,), NEG_INF), -1) == NEG_INF).all()


def test_entropy_of_a_choice_keeps_its_digits_at_large_scores():
    ring = semirings.Entropy()
    found = ring.lower(ring.sum(lifted(ring, torch.tensor([1e6, 1e6])), -1))
    assert found.item() == pytest.approx(math.log(2), rel=1e-6)


def test_cross_entropy_is_infinite_where_the_other_cannot_follow():
    ring = semirings.CrossEntropy()
    pair = torch.tensor([[0.0, 0.0], [0.0, NEG_INF]])
    assert ring.lower(ring.sum(ring.weigh(ring.one(pair), pair), -1)) == torch.inf
    assert ring.lower(ring.sum(ring.weigh(ring.one(pair.flip(0)), pair.flip(0)), -1)).isfinite()


def test_k_max_pads_with_what_is_forbidden():
    ring = semirings.KMax(3)
    found = ring.sum(lifted(ring, torch.tensor([1.0, 2.0])), -1)
    assert found.tolist() == [2.0, 1.0, NEG_INF]


def test_sampling_follows_one_term_with_its_probability():
    torch.manual_seed(0)
    ring = semirings.Sampling()
    x = torch.tensor([0.0, 1.0, NEG_INF]).expand(20_000, 3).clone().requires_grad_()
    total = ring.sum(x, -1)
    (drawn,) = torch.autograd.grad(total.sum(), x)
    torch.testing.assert_close(total.detach(), x.detach().logsumexp(-1))
    assert (drawn.sum(-1) == 1).all()
    share = drawn.mean(0)
    assert share[2] == 0
    assert share[1].item() == pytest.approx(math.e / (1 + math.e), abs=0.015)
