"""Near pairs: the kernels for CPUs, on any number of threads, against the reference."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strukt.kernels.distance_buckets import Buckets
from strukt.kernels.near import cpu, reference


def drawn(n, reach, dtype=torch.float64, batch=2, channels=3, rank=5):
    generator = torch.Generator().manual_seed(n)
    buckets = Buckets(reach, shared=False)
    sizes = (batch, n, channels, rank), (batch, n, channels, rank), (buckets.places, channels, rank)
    rows = [torch.randn(size, generator=generator, dtype=dtype) for size in sizes]
    return *rows, torch.randn(batch, channels, n, n, generator=generator, dtype=dtype), buckets


def require_equal(left, right, weights, pairs, buckets):
    for backend_arguments in (
        ("pairs", left, right, weights, buckets),
        ("sums", pairs, right, weights, buckets, 1),
        ("sums", pairs, left, weights, buckets, -1),
        ("weights", pairs, left, right, buckets),
    ):
        name, *arguments = backend_arguments
        found, expected = (getattr(backend, name)(*arguments) for backend in (cpu, reference))
        torch.testing.assert_close(found, expected)


@given(st.integers(0, 9), st.integers(0, 4))
def test_the_kernels_are_the_reference(n, reach):
    require_equal(*drawn(n, reach))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_threads_share_the_positions(dtype):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        require_equal(*drawn(40, 3, dtype, batch=3, channels=4, rank=24))
    finally:
        torch.set_num_threads(before)


def test_rows_need_not_be_contiguous():
    left, right, weights, pairs, buckets = drawn(7, 2)
    strided = left.transpose(0, 1).contiguous().transpose(0, 1)
    require_equal(strided, right, weights, pairs.mT, buckets)
