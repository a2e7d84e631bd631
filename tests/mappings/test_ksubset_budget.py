"""Relaxed subsets: the nearest points of a cube cut at a sum."""

import math

import numpy as np
import pytest
import torch
from tests.mappings.optimum import never_better
from tests.mappings.test_sparsemax_entmax import normal, pytestmark  # noqa: F401 -- marks this file, too
from torch.autograd import grad, gradcheck, gradgradcheck

from strukt import KSubset
from strukt.kernels import capped_simplex
from strukt.kernels.dispatch import using
from strukt.mappings import budget, ksubset


def onto(k: float, at_most: bool):
    """A feasible point near another one: clipped, then moved towards a constant until the sum fits."""

    def feasible(p: np.ndarray) -> np.ndarray:
        p = np.clip(p, 0.0, 1.0)
        if at_most and p.sum() <= k:
            return p
        target = 1.0 if p.sum() < k else 0.0
        room = np.abs(target - p).sum()
        return p + (target - p) * (abs(p.sum() - k) / room if room > 0 else 0.0)

    return feasible


@pytest.mark.thinned("k", "scale")
@pytest.mark.parametrize("k", [0.0, 0.5, 1.0, 2.0, 4.7, 6.0])
@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0])
def test_subsets_are_optimal(k, scale):
    x = scale * normal(4, 6)
    for row, exactly, at_most in zip(x.numpy(), ksubset(x, k).numpy(), budget(x, k).numpy(), strict=True):
        assert abs(exactly.sum() - k) < 1e-12
        assert at_most.sum() <= k + 1e-12
        for p, bound in ((exactly, False), (at_most, True)):
            assert ((p >= 0) & (p <= 1)).all()
            assert never_better(p, row, lambda q: 0.5 * float(q @ q), onto(k, bound))


def test_more_than_there_are_takes_all():
    assert torch.equal(ksubset(normal(2, 3), 4), torch.ones(2, 3, dtype=torch.float64))
    x = torch.tensor([[5.0, 2.0, 1.5]])
    assert torch.equal(budget(x, 4), torch.ones(1, 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_scores_far_apart_make_entries_of_exactly_0_and_1(backend, dtype):
    """An entry of 1e-17 would have a gradient, and a subset of its own in a mixture."""
    x = torch.tensor([5.0, 2.0, 2.0, -1.0], dtype=dtype)
    with using(backend):
        for k, expected in ((0, [0, 0, 0, 0]), (1, [1, 0, 0, 0]), (3, [1, 1, 1, 0])):
            assert ksubset(x, k).tolist() == expected
            assert not torch.autograd.functional.jacobian(lambda x, k=k: ksubset(x, k), x).any()
        assert KSubset(x, 1).sparsemap().weights.count_nonzero() == 1


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_sizes_that_a_compiled_graph_does_not_check(backend):
    """They were indices out of bounds, which crash a process on a GPU."""
    scores = torch.tensor([[2.0, 1.0], [2.0, 1.0], [-torch.inf, -torch.inf]])
    with using(backend):
        found = capped_simplex.subset(scores, torch.tensor([-1.0, torch.nan, -1.0]))
    assert torch.equal(found[::2], torch.zeros(2, 2))
    assert found[1].isnan().all()


@pytest.mark.thinned("low", "k", "backend")
@pytest.mark.parametrize("low", [-1e9, torch.finfo(torch.float64).min])
@pytest.mark.parametrize("k", [0.0, 0.5, 1.0, 2.5])
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_any_range_of_scores(low, k, backend, monkeypatch):
    """Thresholds are not found by halving a range of 1e308, and sums far from 0 keep their digits."""
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    masked = torch.tensor([[low, 0.25, 1.0, low]], dtype=torch.float64)
    kept = ksubset(masked[:, 1:3], min(k, 2.0))
    assert torch.allclose(ksubset(masked, k)[:, 1:3], kept, atol=1e-15, rtol=0)
    assert torch.allclose(ksubset(masked, k).sum(), torch.tensor(k, dtype=torch.float64), atol=1e-15, rtol=0)
    far = torch.tensor([[0.0, 0.0, 0.25]], dtype=torch.float64)
    assert torch.equal(ksubset(far - 1e14, k), ksubset(far, k))


@pytest.mark.parametrize("mapping", [ksubset, budget])
def test_derivatives(mapping):
    x = normal(4, 7).requires_grad_()
    k = torch.tensor([[0.7], [1.0], [2.0], [3.4]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(mapping, (x, k))
    assert gradgradcheck(mapping, (x, k))
    assert gradcheck(mapping, (x, k), check_forward_ad=True, check_backward_ad=False)


@pytest.mark.parametrize("mapping", [ksubset, budget])
def test_the_second_derivative_of_a_linear_function_is_0(mapping):
    scores = normal(2, 5).requires_grad_()
    (gradient,) = grad(mapping(scores, 2)[..., 0].sum(), scores, create_graph=True)
    assert torch.equal(grad(gradient.sum(), scores)[0], torch.zeros_like(scores))


@pytest.mark.parametrize("mapping", [ksubset, budget])
def test_masks_axes_and_types(mapping):
    x = normal(3, 6).requires_grad_()
    mask = normal(3, 6, seed=1) > 0
    mask[2] = False
    found = mapping(x, 2, mask=mask)
    assert (found[~mask] == 0).all()
    assert torch.allclose(found[0][mask[0]], mapping(x[0][mask[0]], 2), atol=1e-15)
    assert torch.equal(mapping(x.detach().masked_fill(~mask, -math.inf), 2), found)
    (grad,) = torch.autograd.grad(found.square().sum(), x)
    assert grad.isfinite().all()
    assert (grad[~mask] == 0).all()
    assert torch.equal(mapping(x, 2, dim=0), mapping(x.T, 2).T)
    assert mapping(x.half(), 2).dtype == torch.float16
    assert mapping(torch.zeros(0, 4), 2).shape == (0, 4)
    assert torch.allclose(torch.func.vmap(lambda row: mapping(row, 2))(x), mapping(x, 2))
    with pytest.raises(ValueError, match=r"k is -1\.0; expected 0 or more"):
        mapping(x, -1)


def test_ties_share():
    assert torch.allclose(ksubset(torch.zeros(4), 3), torch.full((4,), 0.75))
    assert torch.allclose(ksubset(torch.tensor([1e6, 0.0, 0.0, -1e6]), 2), torch.tensor([1.0, 0.5, 0.5, 0.0]))


@pytest.mark.parametrize(("scores", "k"), [([0.0, 0.0], 0.0), ([3.0, 0.0, -2.0], 1.0), ([1.5, 2.0, 0.0], 2.0)])
def test_nothing_moves_with_a_score_of_zero_if_the_budget_is_used_up(scores, k):
    """The derivative was 1, though the result is the same a little to either side."""
    x = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    place = scores.index(0.0)
    step = 1e-6 * torch.eye(len(scores), dtype=torch.float64)[place]
    assert torch.equal(budget(x + step, k), budget(x, k))
    assert torch.equal(budget(x - step, k), budget(x, k))
    (slope,) = grad(budget(x, k)[place], x)
    assert not slope.any()
    leaf = torch.zeros_like(x).requires_grad_()
    assert grad(budget(leaf, 1.0 + k)[place], leaf)[0][place] == 1.0  # zeros within the budget still learn
