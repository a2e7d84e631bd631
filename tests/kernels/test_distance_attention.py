"""Attention by distance, in blocks, against loops over all pairs."""

from __future__ import annotations

import pytest
import torch

from strukt.kernels import distance_tiles
from strukt.kernels.buckets import Buckets
from strukt.kernels.distance_attention import messages

DOUBLE = torch.float64

KINDS = {
    "uv": ("fh", "fh", False),
    "uvw": ("f", "f", True),
    "weighted": ("h", "h", True),
    "full": ("fh", "", False),
}
"""Rows A and B for each place and channel, or for all, and whether there are weights."""


def drawn(n, kind, reach=1, lengths=None, batch=2, channels=2, rank=2, dtype=DOUBLE):
    torch.manual_seed(n)
    buckets = Buckets(reach, shared=False)
    batch = len(lengths or range(batch))
    of_left, of_right, weighted = KINDS[kind]

    def shape(axes):
        return batch, n, buckets.places if "f" in axes else 1, channels if "h" in axes else 1, rank

    parts = [torch.randn(shape(axes), dtype=dtype) for axes in (of_left, of_right)]
    weights = [torch.randn(buckets.places, channels, rank, dtype=dtype)] if weighted else []
    lengths = torch.tensor(lengths or [n] * batch)
    return parts + weights, torch.arange(n) < lengths[:, None], buckets


def called(parts, inside, buckets, **options):
    left, right, *weights = parts
    return messages(left, right, weights[0] if weights else None, inside, buckets, **options)


def place_of(x, reach):
    if reach is None:
        return 0
    return max(-reach - 1, min(x, reach + 1)) + reach + (x < 0)


def expected(parts, inside, buckets, scale=1.0, causal=False):
    """Both messages, pair by pair."""
    left, right, *weights = parts
    batch, n = inside.shape
    channels = weights[0].shape[1] if weights else left.shape[3]
    first, second = torch.zeros_like(left), torch.zeros_like(right)
    for b in range(batch):
        for c in range(channels):
            for i in range(n):
                others = [j for j in range(n) if inside[b, j] and (j < i if causal else j != i)]
                if not inside[b, i] or not others:
                    continue
                places = [place_of(i - j, buckets.reach) for j in others]
                at_left = [(b, i, *where(left, f, c)) for f in places]
                at_right = [(b, j, *where(right, f, c)) for f, j in zip(places, others, strict=True)]
                of_places = [weights[0][f, c] if weights else 1.0 for f in places]
                parts = list(zip(at_left, at_right, of_places, strict=True))
                scores = torch.stack([scale * (left[x] * w * right[y]).sum() for x, y, w in parts])
                for (x, y, w), p in zip(parts, scores.softmax(0), strict=True):
                    first[x] += p * w * right[y]
                    second[y] += p * w * left[x]
    return first, second


def where(rows, place, channel):
    """The place and the channel of rows that others may share."""
    return place if rows.shape[2] > 1 else 0, channel if rows.shape[3] > 1 else 0


@pytest.fixture(params=[(1, 1), (2, 30), (64, 1 << 17)])
def block(request, monkeypatch):
    """Blocks of one word, of two and several groups, and of all pairs."""
    monkeypatch.setattr(distance_tiles, "_WORDS", request.param[0])
    monkeypatch.setattr(distance_tiles, "_PAIRS", request.param[1])


@pytest.mark.thinned("reach", "lengths", "causal")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [None, (5, 3, 1, 0)])
@pytest.mark.parametrize("reach", [None, 1, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("block")
def test_blocks_are_all_pairs(kind, reach, lengths, causal):
    given = drawn(5, kind, reach, lengths)
    options = {"scale": 1.7, "causal": causal}
    first, second = called(*given, **options)
    over_heads, over_dependents = expected(*given, **options)
    torch.testing.assert_close(first, over_heads)
    torch.testing.assert_close(second, over_dependents)
    alone, none = called(*given, **options, transposed=False)
    torch.testing.assert_close(alone, over_heads)
    assert none is None


@pytest.mark.thinned("reach", "causal")
@pytest.mark.parametrize(
    ("causal", "transposed"), [(False, True), (True, True), (True, False), (False, False)]
)
@pytest.mark.parametrize("reach", [None, 0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives(kind, reach, causal, transposed, monkeypatch):
    monkeypatch.setattr(distance_tiles, "_WORDS", 3)
    parts, inside, buckets = drawn(4, kind, reach, (4, 3), rank=1)
    leaves = [part.requires_grad_() for part in parts]

    def function(*parts):
        both = called(parts, inside, buckets, scale=1.3, causal=causal, transposed=transposed)
        return both if transposed else both[0]

    assert torch.autograd.gradcheck(function, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, leaves, fast_mode=True)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_loops(kind):
    parts, inside, buckets = drawn(6, kind, 1, (6, 4))
    leaves = [part.requires_grad_() for part in parts]
    results = []
    for first, second in (called(leaves, inside, buckets), expected(leaves, inside, buckets)):
        results.append(torch.autograd.grad(first.sin().sum() + second.cos().sum(), leaves))
    for result, other in zip(*results, strict=True):
        torch.testing.assert_close(result, other)


@pytest.mark.parametrize("kind", KINDS)
def test_transforms_of_functions(kind):
    parts, inside, buckets = drawn(4, kind, 1, (4, 3))

    def total(*parts):
        first, second = called(parts, inside, buckets)
        return (first.sin() + 1).sum() + second.cos().sum()

    leaves = [part.requires_grad_() for part in parts]
    gradients = torch.autograd.grad(total(*leaves), leaves)
    numbers = tuple(range(len(leaves)))
    for result, other in zip(torch.func.grad(total, numbers)(*leaves), gradients, strict=True):
        torch.testing.assert_close(result, other)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_is_close_and_large_scores_are_finite(kind):
    parts, inside, buckets = drawn(7, kind, 1, (7, 1))
    leaves = [part.float().requires_grad_() for part in parts]
    for scale in (1.0, 1e6):
        sums = called(leaves, inside, buckets, scale=scale)
        if scale == 1:
            for result, other in zip(sums, called(parts, inside, buckets), strict=True):
                assert result.dtype == torch.float32
                torch.testing.assert_close(result.double(), other, atol=1e-5, rtol=1e-4)
        grads = torch.autograd.grad(sum(part.sum() for part in sums), leaves)
        assert all(grad.isfinite().all() for grad in grads)


@pytest.mark.parametrize("kind", ["uvw", "weighted"])
def test_nothing_as_large_as_all_pairs_is_kept(kind):
    n, kept = 600, []
    parts, inside, buckets = drawn(n, kind, 1, batch=1)
    leaves = [part.requires_grad_() for part in parts]

    def keep(tensor):
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        first, second = called(leaves, inside, buckets)
    assert kept
    assert max(kept) < 20 * n
    (first.sum() + second.sum()).backward()
    assert all(leaf.grad.isfinite().all() for leaf in leaves)


@pytest.mark.parametrize(("batch", "n"), [(0, 3), (2, 0)])
def test_nothing_at_all(batch, n):
    parts, inside, buckets = drawn(n, "uv", 1, batch=batch)
    assert [part.shape for part in called(parts, inside, buckets)] == [part.shape for part in parts]
