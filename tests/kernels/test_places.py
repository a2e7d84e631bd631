"""Sums over places: the kernel and the reference against a loop."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strukt.kernels.engine.gpu import available
from strukt.kernels.places import cpu, gpu, reference

INTERPRETED = available.broken() is None and available.is_interpreted()
KERNELS = (cpu, gpu) if INTERPRETED else (cpu,)


def looped(score, place):
    """The sums, one by one."""
    batch = len(place)
    rows = score.reshape(len(score), -1).repeat_interleave(batch // len(score), 0)
    return torch.stack(
        [
            sum((row[p] for p in some if p >= 0), row.new_zeros(()))
            for row, some in zip(rows, place, strict=True)
        ]
    )


@given(
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 7), st.integers(0, 9), st.integers(0, 2**31),
    st.sampled_from([torch.float32, torch.float64]),
)  # fmt: skip
def test_totals_and_subtractions_equal_loops(groups, each, size, count, seed, dtype):
    generator = torch.Generator().manual_seed(seed)
    batch = groups * each
    scores = tuple(torch.randn(rows, size, 2, generator=generator, dtype=dtype) for rows in (groups, 1))
    places = tuple(torch.randint(-1, 2 * size, (batch, k), generator=generator) for k in (count, 2))
    expected = [looped(score, place) for score, place in zip(scores, places, strict=True)]
    log_partition = sum(expected) + torch.randn(batch, generator=generator, dtype=dtype)
    log_prob = (sum(expected) - log_partition).clamp(max=0.0)
    for module in KERNELS:
        torch.testing.assert_close(module.log_prob(scores, (2, 2), places, log_partition), log_prob)
    for score, place, total in zip(scores, places, expected, strict=True):
        batched = score.repeat_interleave(batch // len(score), 0)
        torch.testing.assert_close(reference.total(batched, 2, place), total)
    weight = torch.randn(batch, generator=generator, dtype=dtype)
    leaves = [score.clone().requires_grad_() for score in scores]
    totals = sum(looped(leaf, place) + 0.0 * leaf.sum() for leaf, place in zip(leaves, places, strict=True))
    gradients = torch.autograd.grad((totals * weight).sum(), leaves)
    for module in (*KERNELS, reference):
        parts = tuple(torch.ones_like(score) for score in scores)
        module.subtract(parts, places, weight)
        torch.testing.assert_close(parts, tuple(1.0 - gradient for gradient in gradients))


@pytest.mark.skipif(not INTERPRETED, reason="needs Triton's interpreter")
@pytest.mark.parametrize(
    ("deterministic", "groups", "sorts"), [(True, 1, True), (True, 3, False), (False, 1, False)]
)
def test_shared_scores_have_their_weights_sorted_if_deterministic(deterministic, groups, sorts):
    part, place = torch.zeros(groups, 2), torch.zeros(3, 1, dtype=torch.int64)
    torch.use_deterministic_algorithms(deterministic)
    try:
        with torch.profiler.profile() as profile:
            gpu.subtract((part,), (place,), torch.tensor([1.0, 2.0, 4.0]))
    finally:
        torch.use_deterministic_algorithms(False)
    assert part.sum() == -7.0
    assert ("aten::index_add_" in {event.key for event in profile.key_averages()}) == sorts


def test_impossible_events_have_neither_probability_nor_weight():
    score = torch.tensor([[0.0, -torch.inf]])
    places, log_partition = (torch.tensor([[0], [1], [0]]),), torch.tensor([1.0, 1.0, -torch.inf])
    grad = torch.tensor([2.0, 3.0, 5.0])
    for module in (*KERNELS, reference):
        found = module.log_prob((score,), (1,), places, log_partition)
        assert found.tolist() == [-1.0, -torch.inf, -torch.inf]
        weights = module.opposites(grad, found)
        assert weights.dtype == grad.dtype
        assert weights.tolist() == [-2.0, 0.0, 0.0]


@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (1, 3)])
def test_leading_axes_and_shared_scores(batch):
    score = torch.arange(24.0).view(2, 3, 4)[: batch[0] if batch else 0] if len(batch) == 2 else None
    score = torch.arange(4.0) if score is None or not batch else score
    place = torch.tensor([3, -1, 0]).expand(5, *batch, 3)
    found = reference.total(score, 1, place)
    assert found.shape == (5, *batch)
    torch.testing.assert_close(found, (score[..., 3] + score[..., 0]).expand(5, *batch))
