"""Scores of pairs by distance, against one product for each pair."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strukt.kernels.distance_buckets import Buckets, gathered, scattered, scores

BUCKETS = [Buckets(None), Buckets(0), Buckets(1), Buckets(3), Buckets(2, shared=False)]


def places_of(buckets, i, j):
    """The places that are for a pair, as the table of the source has them."""
    g, x = buckets.reach, i - j
    if g is None:
        return [0]
    last = [buckets.places - 1] if buckets.shared else []
    if x == 0:
        return last
    if x < -g:
        return [0, *last]
    if x > g:
        return [2 * g + 1, *last]
    return [x + g + (x < 0), *last]


def drawn(buckets, n, seed, rank=2):
    generator = torch.Generator().manual_seed(seed)
    sizes = (buckets.places, 2, n, rank), (buckets.places, 2, n, rank), (2, n, n)
    return [torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes]


@given(st.sampled_from(BUCKETS), st.integers(0, 9), st.integers(0, 99))
def test_each_pair_is_in_its_bucket(buckets, n, seed):
    left, right, weights = drawn(buckets, n, seed)
    expected = torch.zeros_like(weights)
    at_left, at_right = torch.zeros_like(left), torch.zeros_like(right)
    for i in range(n):
        for j in range(n):
            for place in places_of(buckets, i, j):
                expected[:, i, j] += (left[place, :, i] * right[place, :, j]).sum(-1)
                at_left[place, :, i] += weights[:, i, j, None] * right[place, :, j]
                at_right[place, :, j] += weights[:, i, j, None] * left[place, :, i]
    torch.testing.assert_close(scores(left, right, buckets), expected)
    torch.testing.assert_close(gathered(weights, right, buckets), at_left)
    torch.testing.assert_close(scattered(weights, left, buckets), at_right)


@pytest.mark.parametrize("buckets", BUCKETS)
@pytest.mark.parametrize("n", [1, 5])
def test_derivatives_of_any_order(buckets, n):
    left, right, weights = (part.requires_grad_() for part in drawn(buckets, n, 0, rank=1))
    for function, given_ in (
        (scores, (left, right)),
        (gathered, (weights, right)),
        (scattered, (weights, left)),
    ):
        assert torch.autograd.gradcheck(lambda *x, f=function: f(*x, buckets), given_)
        assert torch.autograd.gradgradcheck(lambda *x, f=function: f(*x, buckets), given_)


def test_rows_that_are_expanded_need_no_room():
    left, right, weights = drawn(Buckets(1), 4, 0)
    one = right[:1].expand_as(right)
    torch.testing.assert_close(scores(left, one, Buckets(1)), scores(left, one.contiguous(), Buckets(1)))
    found = gathered(weights, one, Buckets(1))
    torch.testing.assert_close(found, gathered(weights, one.contiguous(), Buckets(1)))
