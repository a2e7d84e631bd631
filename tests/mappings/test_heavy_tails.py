"""Entmax below alpha = 1: all scores but -inf have a probability, right at any spread and through softmax."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.mappings.test_sparsemax_entmax import normal, pytestmark  # noqa: F401 -- marks this file, too
from torch.autograd import grad, gradcheck, gradgradcheck

from strukt import mappings
from strukt.losses import entmax_loss
from strukt.mappings import entmax

BELOW = [1e-3, 0.1, 0.3, 0.5, 0.9, 0.999]
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "reference"])


def bisected(x: np.ndarray, alpha: float) -> np.ndarray:
    """One row: ``(t - (1 - alpha) x) ** (-1 / (1 - alpha))``, by bisection for the logarithm of the largest."""
    c = 1.0 - alpha
    below = np.where(x > -np.inf, x.max() - x, 0.0)

    def weights(log_most: float) -> np.ndarray:
        raised = np.exp(-c * log_most) + c * below
        return np.where(x > -np.inf, np.exp(-np.log(raised) / c), 0.0)

    low, high = -math.log(len(x)) - 1e-9, 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if weights(middle).sum() > 1.0 else (middle, high)
    return weights(high)


@pytest.mark.thinned("alpha", "scale")
@BACKENDS
@pytest.mark.parametrize("alpha", BELOW)
@pytest.mark.parametrize("scale", [0.0, 0.1, 3.0, 1e3, 1e6])
def test_entmax_is_what_bisection_finds(monkeypatch, backend, alpha, scale):
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    for d in (1, 2, 40, 300):
        x = scale * normal(3, d)
        x[1, d // 2 :] = x[1, 0]
        x[2, 1::3] = -math.inf
        found = entmax(x, alpha)
        expected = torch.from_numpy(np.stack([bisected(row, alpha) for row in x.numpy()]))
        assert torch.allclose(found, expected, rtol=2e-12 / (1.0 - alpha), atol=1e-300)
        assert (found.sum(-1) - 1.0).abs().max() < 1e-14
        assert torch.allclose(entmax(x.float(), alpha).double(), expected, rtol=0, atol=2e-6 * max(scale, 1))


@pytest.mark.thinned("alpha", "dtype")
@BACKENDS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 0.5, 0.9, 1 - 1e-6])
def test_no_spread_is_too_wide(monkeypatch, backend, dtype, alpha):
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    x = torch.tensor(
        [
            [0.0, 0.0, 0.0, 0.0],
            [1e6, 1e6, -1e6, -math.inf],
            [-1e6, 1e6, 0.0, 1.0],
            [1e30, -1e30, 0.0, -math.inf],
            [-math.inf] * 4,
            [-math.inf, -math.inf, 2e15, -math.inf],
        ],
        dtype=dtype,
    ).requires_grad_()
    each = torch.full((6, 1), alpha, dtype=torch.float64, requires_grad=True)
    found = entmax(x, each)
    near = torch.tensor([[0.25] * 4, [0.5, 0.5, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0] * 4, [0, 0, 1, 0]])
    assert (found - near.to(dtype)).abs().max() < 1e-5
    assert (found[x == -math.inf] == 0).all()
    values = (found * normal(6, 4).to(dtype)).sum() + entmax_loss(x[:3], torch.tensor([1, 0, 2]), each[:3])
    first = grad(values, (x, each), create_graph=True)
    assert (first[0][x == -math.inf] == 0).all()
    for gradient in (*first, *grad(sum(part.square().sum() for part in first), (x, each))):
        assert gradient.isfinite().all()


@given(
    arrays.arrays(
        np.float64,
        st.integers(1, 60),
        elements=st.just(-math.inf) | st.floats(-1e3, 1e3, allow_subnormal=False),
    ),
    st.floats(0.01, 0.99),
    st.floats(-1e3, 1e3),
)
def test_laws_of_full_support(values, alpha, shift):
    x = torch.from_numpy(values)
    p = entmax(x, alpha)
    assert (p[x == -math.inf] == 0).all()
    if (x == -math.inf).all():
        return
    assert abs(p.sum() - 1.0) < 1e-14
    assert 1.0 / len(x) - 1e-15 <= p.max() <= 1.0
    order = x.argsort()
    assert (p[order].diff() >= -1e-15).all()
    assert (p[(x > x.max() - 100.0)] > 0).all()
    assert torch.allclose(entmax(x + shift, alpha), p, rtol=0, atol=1e-10)
    leaf = x.clone().requires_grad_()
    (gradient,) = grad(entmax(leaf, alpha)[x.argmax()], leaf)
    assert gradient.isfinite().all()
    assert (gradient[x == -math.inf] == 0).all()


@pytest.mark.thinned("alpha", "backend")
@BACKENDS
@pytest.mark.parametrize(
    "alpha", [0.2, *(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (0.5, 0.9, 1.0 - 1e-7)), 1.0]
)
def test_derivatives_in_scores_and_alpha(monkeypatch, backend, alpha):
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    x = normal(2, 4, seed=1).requires_grad_()
    each = torch.full((2, 1), alpha, dtype=torch.float64, requires_grad=True)
    assert gradcheck(entmax, (x, each), check_forward_ad=True)
    assert gradgradcheck(entmax, (x, each))
    classes = torch.tensor([3, 0])
    for target in (classes, mappings.sparsemax(normal(2, 4, seed=9)), mappings.sparsemax(x.detach(), -1)):
        assert gradcheck(lambda x, each, target=target: entmax_loss(x, target, each), (x, each))
        assert gradgradcheck(lambda x, each, target=target: entmax_loss(x, target, each), (x, each))


def test_third_derivatives():
    x = normal(1, 3, seed=1).requires_grad_()
    each = torch.full((1, 1), 0.6, dtype=torch.float64, requires_grad=True)

    def gradients(x: torch.Tensor, each: torch.Tensor) -> tuple[torch.Tensor, ...]:
        value = (entmax(x, each) * normal(1, 3, seed=2)).sum()
        return grad(value, (x, each), create_graph=True)

    assert gradgradcheck(gradients, (x, each))


def test_rows_pass_smoothly_through_softmax():
    alpha = torch.tensor([0.9, 1 - 1e-4, 1 - 1e-8, 1.0, 1 + 1e-8, 1 + 1e-4, 1.1], dtype=torch.float64)
    alpha = alpha.unsqueeze(-1).requires_grad_()
    x, weights = normal(1, 6).expand(7, 6).clone().requires_grad_(), normal(1, 6, seed=3)
    found = entmax(x, alpha)
    (first,) = grad((weights * found).sum(), alpha, create_graph=True)
    (second,) = grad(first.sum(), alpha)
    for each, values in ((found, found[3]), (first, first[3]), (second, second[3])):
        assert ((each[2:5] - values).abs() < 1e-7).all()
        assert ((each[1:6] - values).abs() < 1e-2).all()
    assert torch.equal(found[3], entmax(x[3], 1.0))
    for row in range(7):
        assert torch.equal(found[row], entmax(x[row], alpha[row].item()))


@BACKENDS
def test_the_loss_is_right_to_small_probabilities(monkeypatch, backend):
    """At alpha = 0.1 a probability of 5e-14 counts in the entropy with its power 0.05."""
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    x = torch.tensor([[0.0, -3e8, -1e9, -1e12]], dtype=torch.float64)
    for alpha in (0.1, 0.3, 0.5):
        c, p = 1.0 - alpha, bisected(x[0].numpy(), alpha)
        entropy = (np.sum(p**alpha) - 1.0) / (alpha * c)
        expected = float(np.where(p > 0, p * x[0].numpy(), 0.0).sum() + entropy)
        assert math.isclose(
            entmax_loss(x, torch.tensor([0]), alpha).item(), expected, rel_tol=1e-9, abs_tol=1e-14
        )
