"""Maps to the simplex on a GPU, or in Triton's interpreter, equal those on the CPU."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, by_kernels, needed
from tests.scores import normal
from torch.autograd import gradcheck, gradgradcheck
from torch.profiler import ProfilerActivity, profile

from strukt import losses
from strukt.kernels.dispatch import using
from strukt.kernels.sparsemax_entmax import entmax, gpu
from strukt.mappings import entmax15, sparsemax

pytestmark = needed

SLOW = pytest.mark.slow
ALPHAS = [0.5, 1.0, 1 + 1e-9, 1.3, 1.5, 2.0]
TOLERANCES = {torch.float32: 1e-6, torch.float64: 1e-12}
SIZES = [2, 5, pytest.param(33, marks=SLOW), pytest.param(300, marks=SLOW)]


def with_gradient(mapping, scores, *parameters):
    leaf = scores.clone().requires_grad_()
    value = mapping(leaf, *parameters)
    direction = normal(*scores.shape, seed=7).to(scores)
    return value.detach(), *torch.autograd.grad(value, leaf, direction)


def compare(mapping, scores, *parameters):
    tolerance = TOLERANCES[scores.dtype]
    moved = (scores.to(DEVICE), *(each.to(DEVICE) for each in parameters))
    here = by_kernels(with_gradient, mapping, *moved)
    with using("cpu"):
        there = with_gradient(mapping, scores, *parameters)
    for ours, expected in zip(here, there, strict=True):
        assert ours.device.type == DEVICE
        assert torch.allclose(ours.cpu(), expected, rtol=5 * tolerance, atol=tolerance, equal_nan=True)
    return here[0].cpu()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [0.1, pytest.param(30.0, marks=SLOW)])
@pytest.mark.parametrize("d", SIZES)
def test_an_alpha_for_each_row(d, scale, dtype):
    scores = (scale * normal(len(ALPHAS), d)).to(dtype)
    scores[:, 1::3] = scores[:, :1]
    scores[:, 4::5] = -math.inf
    compare(entmax, scores, torch.tensor(ALPHAS, dtype=torch.float64))


@pytest.mark.parametrize("alpha", [2.5, pytest.param(10.0, marks=SLOW)])
@pytest.mark.parametrize("d", SIZES[1:])
def test_supports_above_alpha_2(d, alpha):
    scores = normal(2, d).float()
    scores[:, 1] = scores[:, 0]
    found = compare(entmax, scores, torch.full((2,), alpha))
    with using("cpu"):
        assert torch.equal(found > 0, entmax(scores, torch.full((2,), alpha)) > 0)


SCORES = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 33), st.integers(1, 17)),
    elements=st.just(-math.inf) | st.floats(-4, 4, width=32) | st.floats(-(2.0**100), 2.0**100, width=32),
)


@pytest.mark.parametrize("mapping", [sparsemax, entmax15])
@settings(max_examples=4)
@given(SCORES)
def test_many_rows_in_a_program(mapping, values):
    scores = torch.from_numpy(values)
    found = compare(mapping, scores)
    assert (found[scores == -math.inf] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mapping", [sparsemax, entmax15])
def test_rows_beyond_registers(mapping, dtype, monkeypatch):
    if not ON_GPU:
        monkeypatch.setattr(gpu, "HELD", 16)
        monkeypatch.setattr(gpu, "TILE", 32)
    scores = normal(2, 128_001 if ON_GPU else 100).to(dtype)
    scores[0, -1] = 9.0
    scores[1] = 0.25
    compare(mapping, scores)


@pytest.mark.slow
def test_rows_beyond_registers_for_any_alpha(monkeypatch):
    if not ON_GPU:
        monkeypatch.setattr(gpu, "HELD", 16)
        monkeypatch.setattr(gpu, "TILE", 64)
    scores = normal(4, 20_000 if ON_GPU else 60)
    compare(entmax, scores, torch.tensor([0.7, 1.3, 2.0, 3.0], dtype=torch.float64))


@pytest.mark.parametrize("mapping", [sparsemax, entmax15])
def test_wrong_and_forbidden_rows(mapping):
    scores = normal(4, 5).float()
    scores[0, 1], scores[1, 2], scores[2] = math.nan, math.inf, -math.inf
    found = compare(mapping, scores)
    assert found[:2].isnan().all()
    assert (found[2] == 0).all()
    assert found[3].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("mapping", [sparsemax, entmax15])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types(mapping, dtype):
    scores = normal(3, 5).to(dtype)
    found = by_kernels(mapping, scores.to(DEVICE))
    assert found.dtype == dtype
    assert torch.equal(found.cpu(), mapping(scores.float()).to(dtype))


def checked(mapping, *arguments):
    return gradcheck(mapping, arguments) and gradgradcheck(mapping, arguments)


@pytest.mark.parametrize("mapping", [sparsemax, entmax15])
def test_derivatives(mapping):
    scores = torch.tensor([[0.5, 0.1, -2.0]], dtype=torch.float64, device=DEVICE, requires_grad=True)
    assert 0.0 in by_kernels(mapping, scores)
    assert by_kernels(checked, mapping, scores)


@pytest.mark.slow
def test_derivatives_in_alpha():
    scores = normal(2, 4, seed=1).to(DEVICE).requires_grad_()
    alpha = torch.tensor([1.5, 1.3], dtype=torch.float64, device=DEVICE, requires_grad=True)
    assert by_kernels(checked, entmax, scores, alpha)


def loss_with_gradient(loss, scores, target):
    leaf = scores.clone().requires_grad_()
    value = loss(leaf, target)
    return value.detach(), *torch.autograd.grad(value.sum(), leaf)


@pytest.mark.parametrize("alpha", [2.0, 1.5, pytest.param(1.3, marks=SLOW), pytest.param(1.0, marks=SLOW)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_losses(alpha, dtype):
    scores = (3 * normal(4, 5)).to(dtype)
    points = normal(4, 5, seed=2).softmax(-1).to(dtype)
    loss = partial(losses.entmax_loss, alpha=alpha, reduction="none")
    for target in (torch.tensor([0, 4, 2, 2]), points):
        here = by_kernels(loss_with_gradient, loss, scores.to(DEVICE), target.to(DEVICE))
        with using("cpu"):
            there = loss_with_gradient(loss, scores, target)
        for ours, expected in zip(here, there, strict=True):
            assert torch.allclose(ours.cpu(), expected, rtol=1e-5, atol=TOLERANCES[dtype])


def test_a_direction_counts_on_the_support_only():
    scores = (5 * normal(3, 7)).to(DEVICE).requires_grad_()

    def gradients():
        value = entmax15(scores)
        direction = normal(3, 7, seed=7).to(DEVICE)
        wild = torch.where(value > 0, direction, math.inf)
        return [torch.autograd.grad(value, scores, each, retain_graph=True)[0] for each in (direction, wild)]

    plain, wild = by_kernels(gradients)
    assert torch.equal(plain, wild)


@pytest.mark.parametrize("mapping", [sparsemax, entmax15])
def test_equal_bits_in_every_run_and_batch(mapping):
    scores = normal(5, 33).float().to(DEVICE)
    first = by_kernels(with_gradient, mapping, scores)
    again = by_kernels(with_gradient, mapping, scores)
    alone = by_kernels(mapping, scores[3:4])
    assert all(map(torch.equal, first, again))
    assert torch.equal(first[0][3:4], alone)


@pytest.mark.skipif(not ON_GPU, reason="counts launches on a GPU")
@pytest.mark.parametrize("mapping", [sparsemax, entmax15])
def test_one_launch_each_and_no_wait(mapping, refuse_to_wait):
    scores = normal(32, 10).float().to(DEVICE).requires_grad_()
    direction = torch.ones_like(scores)
    torch.autograd.grad(mapping(scores), scores, direction)
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        refuse_to_wait()
        torch.autograd.grad(mapping(scores), scores, direction)
        torch.cuda.set_sync_debug_mode("default")
    assert sorted(event.name for event in record.events() if "Synchronize" not in event.name) == ["entmax", "pull"]
