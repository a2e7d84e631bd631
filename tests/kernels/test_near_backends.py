"""Near pairs: the kernels for CPUs, on any number of threads, against the reference."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strukt.kernels.buckets import Buckets
from strukt.kernels.near import cpu, reference


def drawn(n, reach, dtype=torch.float64, batch=2, channels=3, rank=5, left="kh", right="kh"):
    """Rows for each distance k and channel h, or for all, weights, a band, and the buckets."""
    generator = torch.Generator().manual_seed(n)
    buckets = Buckets(reach, shared=False)
    near = 2 * reach

    def random(*sizes):
        return torch.randn(sizes, generator=generator, dtype=dtype)

    rows = [
        random(batch, n, near if "k" in axes else 1, channels if "h" in axes else 1, rank)
        for axes in (left, right)
    ]
    band = torch.ones(batch, n, channels, near, dtype=torch.bool)
    for place, offset in buckets.diagonals(n):
        band[:, max(-offset, 0) : n - max(offset, 0), :, place - 1] = False
    band = random(*band.shape).masked_fill(band, 0.0)
    return *rows, random(near, channels, rank), band, buckets


def require_equal(left, right, weights, band, buckets):
    for backend_arguments in (
        ("scores", left, right, weights, buckets),
        ("sums", band, right, weights, left.shape, buckets, 1),
        ("sums", band, left, weights, right.shape, buckets, -1),
        ("weights", band, left, right, buckets),
    ):
        name, *arguments = backend_arguments
        result, expected = (getattr(backend, name)(*arguments) for backend in (cpu, reference))
        torch.testing.assert_close(result, expected)


AXES = st.sampled_from(["kh", "k", "h", ""])


@given(st.integers(0, 9), st.integers(1, 4), AXES, AXES)
def test_the_kernels_are_the_reference(n, reach, left, right):
    require_equal(*drawn(n, reach, left=left, right=right))


def test_scores_are_those_of_loops():
    left, right, weights, band, buckets = drawn(6, 2)
    expected = torch.zeros_like(band)
    for place, offset in buckets.diagonals(6):
        for i in range(6):
            if 0 <= i + offset < 6:
                k = place - 1
                expected[:, i, :, k] = (left[:, i, k] * weights[k] * right[:, i + offset, k]).sum(-1)
    torch.testing.assert_close(reference.scores(left, right, weights, buckets), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_threads_share_the_positions(dtype):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        require_equal(*drawn(40, 3, dtype, batch=3, channels=4, rank=24))
    finally:
        torch.set_num_threads(before)


def test_rows_need_not_be_contiguous():
    left, right, weights, band, buckets = drawn(7, 2)
    strided = left.transpose(0, 1).contiguous().transpose(0, 1)
    require_equal(strided, right, weights, band.mT.contiguous().mT, buckets)
