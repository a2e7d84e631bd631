"""Scores of pairs by distance, against one product for each pair."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strukt.kernels import all_pairs, weighted_buckets
from strukt.kernels.buckets import Buckets
from strukt.kernels.distance_buckets import gathered, scattered, scores

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
    rows = (2, n, buckets.places, 3, rank)
    sizes = rows, rows, (2, 3, n, n)
    return [torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes]


@given(st.sampled_from(BUCKETS), st.integers(0, 9), st.integers(0, 99))
def test_each_pair_is_in_its_bucket(buckets, n, seed):
    left, right, weights = drawn(buckets, n, seed)
    expected = torch.zeros_like(weights)
    at_left, at_right = torch.zeros_like(left), torch.zeros_like(right)
    for i in range(n):
        for j in range(n):
            for place in places_of(buckets, i, j):
                expected[:, :, i, j] += (left[:, i, place] * right[:, j, place]).sum(-1)
                at_left[:, i, place] += weights[:, :, i, j, None] * right[:, j, place]
                at_right[:, j, place] += weights[:, :, i, j, None] * left[:, i, place]
    torch.testing.assert_close(scores(left, right, buckets), expected)
    torch.testing.assert_close(gathered(weights, right, buckets), at_left)
    torch.testing.assert_close(scattered(weights, left, buckets), at_right)
    if n:
        torch.testing.assert_close(all_pairs.scores(left, right, buckets), expected)
        torch.testing.assert_close(all_pairs.gathered(weights, right, buckets), at_left)
        torch.testing.assert_close(all_pairs.scattered(weights, left, buckets), at_right)


@pytest.mark.parametrize("buckets", BUCKETS)
@pytest.mark.parametrize("n", [1, 5])
def test_derivatives_of_any_order(buckets, n):
    left, right, weights = (part.requires_grad_() for part in drawn(buckets, n, 0, rank=1))
    for function, given_ in (
        (scores, (left, right)),
        (gathered, (weights, right)),
        (scattered, (weights, left)),
    ):
        assert torch.autograd.gradcheck(lambda *x, f=function: f(*x, buckets), given_, fast_mode=True)
        assert torch.autograd.gradgradcheck(lambda *x, f=function: f(*x, buckets), given_, fast_mode=True)


def test_rows_may_be_expanded():
    left, right, weights = drawn(Buckets(1), 4, 0)
    one = right[:, :, :1].expand_as(right)
    torch.testing.assert_close(scores(left, one, Buckets(1)), scores(left, one.contiguous(), Buckets(1)))
    found = gathered(weights, one, Buckets(1))
    torch.testing.assert_close(found, gathered(weights, one.contiguous(), Buckets(1)))


def weighted(buckets, n, seed):
    generator = torch.Generator().manual_seed(seed)
    sizes = (2, n, 3, 2), (2, n, 3, 2), (buckets.places, 3, 2), (2, 3, n, n)
    return [torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes]


@given(
    st.sampled_from([Buckets(None, shared=False), Buckets(0, False), Buckets(2, False)]), st.integers(0, 7)
)
def test_weighted_rows_are_rows_of_each_bucket(buckets, n):
    left, right, weights, pairs = weighted(buckets, n, n)
    lefts = left.unsqueeze(2) * weights
    rights = right.unsqueeze(2).expand_as(lefts)
    both = weighted_buckets.weighted(left, weights, buckets)
    found = weighted_buckets.scores(both, right, weights, buckets)
    torch.testing.assert_close(found, scores(lefts, rights, buckets))
    found = weighted_buckets.gathered(pairs, right, weights, buckets)
    torch.testing.assert_close(found, (gathered(pairs, rights, buckets) * weights).sum(2))
    found = weighted_buckets.scattered(pairs, both, weights, buckets)
    torch.testing.assert_close(found, scattered(pairs, lefts, buckets).sum(2))


@pytest.mark.parametrize("buckets", [Buckets(None, shared=False), Buckets(1, shared=False)])
def test_weighted_derivatives_of_any_order(buckets):
    left, right, weights, pairs = (part.requires_grad_() for part in weighted(buckets, 4, 0))

    def scores_of(left, right, weights):
        return weighted_buckets.scores(
            weighted_buckets.weighted(left, weights, buckets), right, weights, buckets
        )

    def gathered_of(pairs, right, weights):
        return weighted_buckets.gathered(pairs, right, weights, buckets)

    def scattered_of(pairs, left, weights):
        both = weighted_buckets.weighted(left, weights, buckets)
        return weighted_buckets.scattered(pairs, both, weights, buckets)

    for function, given_ in (
        (scores_of, (left, right, weights)),
        (gathered_of, (pairs, right, weights)),
        (scattered_of, (pairs, left, weights)),
    ):
        assert torch.autograd.gradcheck(function, given_, fast_mode=True)
        assert torch.autograd.gradgradcheck(function, given_, fast_mode=True)
