"""Products of few rows, and the matrices of a low rank, against what they stand for."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from strukt.distributions import HMM, LowRank
from strukt.kernels import jit
from strukt.structures.hmm import few_rows, low_rank, pieces

pytestmark = pytest.mark.skipif(jit.UNAVAILABLE is not None, reason="without Numba there is but one product")


@given(st.integers(1, 20), st.integers(1, 40), st.integers(1, 40), st.integers(0, 99), st.booleans())
def test_few_rows_equal_the_product(b, n, m, seed, single):
    dtype = torch.float32 if single else torch.float64
    generator = torch.Generator().manual_seed(seed)
    rows, matrix = (torch.randn(size, generator=generator, dtype=dtype) for size in ((b, n), (n, m)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_rows, "LARGE", 1)
        kept = few_rows.laid_out(matrix, b)
        assert torch.equal(kept, matrix)
        torch.testing.assert_close(few_rows.product(rows, kept), rows @ matrix)
        torch.testing.assert_close(
            few_rows.product(rows[:, ::2], few_rows.laid_out(matrix[::2], b)), rows[:, ::2] @ matrix[::2]
        )


@pytest.mark.parametrize("rows", [2, 5, 16])
@pytest.mark.parametrize("rank", [0, 3])
def test_a_model_with_few_sentences_uses_them_and_is_the_same(monkeypatch, rows, rank):
    torch.manual_seed(0)
    z = 7
    transition = [torch.randn(z, rank), torch.randn(z, rank)] if rank else [torch.randn(z, z)]
    scores = [score.double().requires_grad_() for score in (torch.randn(z), *transition, torch.randn(z, 5))]
    x = torch.randint(5, (rows, 6))

    def log_prob():
        initial, *transition, emission = scores
        operator = LowRank(*transition) if rank else transition[0]
        return HMM(initial, operator, emission, checkpoint=True).log_prob(x)

    def answers():
        value = log_prob()
        return value, *torch.autograd.grad(value.sum(), scores)

    expected, calls = answers(), []
    compiled = few_rows._products
    monkeypatch.setattr(few_rows, "_products", lambda *given: (calls.append(1), compiled(*given)))
    monkeypatch.setattr(few_rows, "LARGE", 1)
    torch.testing.assert_close(answers(), expected)
    assert len(calls) >= 2 * 5  # five steps forwards and five backwards


def test_a_derivative_keeps_the_library_s_product(monkeypatch):
    monkeypatch.setattr(few_rows, "LARGE", 1)
    rows, matrix = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5)
    assert few_rows.product(rows, few_rows.laid_out(matrix, 3)).requires_grad


def test_the_factors_of_a_low_rank(monkeypatch):
    torch.manual_seed(0)
    source, target = (torch.randn(5, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    for cached in (1, 1 << 19):
        monkeypatch.setattr(pieces, "CACHED", cached)
        leaving, landing = low_rank.factors(source, target)
        torch.testing.assert_close(leaving, torch.softmax(source + target.logsumexp(0), 1))
        torch.testing.assert_close(landing, torch.softmax(target, 0))
        assert gradcheck(low_rank.factors, (source, target))
        assert gradgradcheck(low_rank.factors, (source, target))


@pytest.mark.parametrize("whole", ["row of source", "column of target", "nothing"])
def test_features_that_are_forbidden(whole):
    torch.manual_seed(0)
    source, target = torch.randn(2, 4, 3, dtype=torch.float64)
    source[1, 0] = target[2, 1] = -math.inf
    if whole == "row of source":
        source[1] = -math.inf
    elif whole == "column of target":
        target[:, 1] = -math.inf
    source.requires_grad_()
    target.requires_grad_()
    matrix = LowRank(source, target).dense()
    expected = (source.exp() @ target.exp().mT).nan_to_num()
    total = expected.sum(1, keepdim=True)
    torch.testing.assert_close(matrix, torch.where(total > 0, expected / total, 0.0))
    weights = torch.arange(16.0, dtype=torch.float64).view(4, 4)
    grads = torch.autograd.grad((matrix * weights).sum(), (source, target))
    assert all(bool(grad.isfinite().all()) for grad in grads)
    assert not grads[0][source == -math.inf].any()
    assert not grads[1][target == -math.inf].any()
