"""Attention with a bias by distance, in blocks, against loops over all pairs."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from strukt.kernels import biased_attention
from strukt.kernels.biased_attention import by_distance, messages, pairs
from strukt.kernels.buckets import Buckets

DOUBLE = torch.float64


def drawn(n, lengths=None, batch=2, channels=3, rank=2, dtype=DOUBLE):
    torch.manual_seed(n)
    sizes = (batch, n, channels, rank), (batch, n, channels, rank), (channels, max(2 * n - 1, 0))
    lengths = torch.full((batch,), n) if lengths is None else torch.tensor(lengths)
    inside = torch.arange(n) < lengths[:, None]
    return [torch.randn(size, dtype=dtype) for size in sizes], inside


def expected(left, right, bias, inside, scale=1.0, causal=False):
    """Both messages, pair by pair."""
    batch, n, channels, _ = left.shape
    first, second = torch.zeros_like(left), torch.zeros_like(right)
    for b in range(batch):
        for c in range(channels):
            for i in range(n):
                others = [j for j in range(n) if inside[b, j] and (j < i if causal else j != i)]
                if not inside[b, i] or not others:
                    continue
                scores = [scale * left[b, i, c] @ right[b, j, c] + bias[c, j - i + n - 1] for j in others]
                for j, p in zip(others, torch.stack(scores).softmax(0), strict=True):
                    first[b, i, c] += p * right[b, j, c]
                    second[b, j, c] += p * left[b, i, c]
    return first, second


@pytest.fixture(params=[1, 8, 30, 1 << 18])
def block(request, monkeypatch):
    """Blocks of one row, of a few, of several channels, and of all."""
    monkeypatch.setattr(biased_attention, "_BLOCK", request.param)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [None, (5, 3), (1, 5), (0, 2)])
@pytest.mark.usefixtures("block")
def test_blocks_are_all_pairs(lengths, causal):
    (left, right, bias), inside = drawn(5, lengths)
    options = {"scale": 1.7, "causal": causal}
    first, second = messages(left, right, bias, inside, **options)
    of_first, of_second = expected(left, right, bias, inside, **options)
    torch.testing.assert_close(first, of_first)
    torch.testing.assert_close(second, of_second)
    alone, none = messages(left, right, bias, inside, **options, transposed=False)
    torch.testing.assert_close(alone, of_first)
    assert none is None


@pytest.mark.thinned("lengths", "causal")
@pytest.mark.parametrize(("causal", "transposed"), [(False, True), (True, True), (True, False), (False, False)])
@pytest.mark.parametrize("lengths", [None, (4, 2), (1, 4)])
@pytest.mark.usefixtures("block")
def test_derivatives(lengths, causal, transposed):
    parts, inside = drawn(4, lengths, rank=1)
    leaves = [part.requires_grad_() for part in parts]

    def function(*parts):
        both = messages(*parts, inside, scale=1.3, causal=causal, transposed=transposed)
        return both if transposed else both[0]

    assert torch.autograd.gradcheck(function, leaves, check_batched_grad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, leaves, fast_mode=True)


@pytest.mark.usefixtures("block")
@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
def test_transforms_of_functions():
    parts, inside = drawn(4, (4, 3))

    def total(*parts):
        first, second = messages(*parts, inside)
        return (first.sin() + second.cos()).sum()

    leaves = [part.requires_grad_() for part in parts]
    taken = torch.autograd.grad(total(*leaves), leaves)
    for mine, other in zip(torch.func.grad(total, (0, 1, 2))(*parts), taken, strict=True):
        torch.testing.assert_close(mine, other)
    directions = tuple(torch.randn_like(part) for part in parts)
    _, along = torch.func.jvp(total, tuple(parts), directions)
    torch.testing.assert_close(along, sum((a * b).sum() for a, b in zip(taken, directions, strict=True)))


@given(st.integers(1, 9), st.booleans())
@settings(max_examples=20)
def test_float32_is_close(n, causal):
    parts, inside = drawn(n)
    result = messages(*(part.float() for part in parts), inside, causal=causal)
    for mine, other in zip(result, messages(*parts, inside, causal=causal), strict=True):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine.double(), other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("magnitude", [1e3, 1e6])
def test_large_scores_are_finite(magnitude):
    (left, right, bias), inside = drawn(6, (6, 1), dtype=torch.float32)
    leaves = [part.requires_grad_() for part in (left, right, bias)]
    first, second = messages(*leaves, inside, scale=magnitude)
    of_first, _ = expected(left.detach(), right.detach(), bias.detach(), inside, scale=magnitude)
    torch.testing.assert_close(first.detach(), of_first)
    grads = torch.autograd.grad(first.sum() + second.sum(), leaves)
    assert all(grad.isfinite().all() for grad in grads)


def test_nothing_as_large_as_all_pairs_is_kept():
    n, kept = 600, []
    (left, right, bias), inside = drawn(n, batch=1, channels=2)
    leaves = [part.requires_grad_() for part in (left, right, bias)]

    def keep(tensor):
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        first, second = messages(*leaves, inside)
    assert kept
    assert max(kept) < 5 * n
    (first.sum() + second.sum()).backward()
    assert all(leaf.grad.isfinite().all() for leaf in leaves)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_nothing_at_all(shape):
    (left, right, bias), inside = drawn(shape[1], batch=shape[0])
    assert [part.shape for part in messages(left, right, bias, inside)] == [left.shape, right.shape]


@pytest.mark.parametrize("reach", [None, 0, 1, 3])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_each_distance_has_the_number_of_its_bucket(reach, n):
    buckets = Buckets(reach, shared=False)
    numbers = torch.randn(buckets.places, 2)
    result = pairs(by_distance(numbers, n, buckets))
    for i in range(n):
        for j in range(n):
            x = i - j
            if x == 0:
                continue
            place = 0 if reach is None else max(-reach - 1, min(x, reach + 1)) + reach + (x < 0)
            assert torch.equal(result[:, i, j], numbers[place])
