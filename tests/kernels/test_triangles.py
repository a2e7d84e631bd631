"""Products over two triangles by blocks, against one product for each pair."""

import pytest
import torch

from strukt.kernels import triangles


def drawn(n):
    generator = torch.Generator().manual_seed(n)
    rows = [torch.randn(2, n, 3, 4, generator=generator, dtype=torch.float64) for _ in range(4)]
    return rows, torch.randn(2, 3, n, n, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 70, 150])
def test_products_and_sums_are_those_of_whole_matrices(n):
    (first, second, third, fourth), pairs = drawn(n)
    above = torch.einsum("bihr,bjhr->bhij", first, second).triu(1)
    below = torch.einsum("bihr,bjhr->bhij", third, fourth).tril(-1)
    torch.testing.assert_close(triangles.products((first, second), (third, fourth)), above + below)
    for given in (pairs, pairs.mT):
        found = triangles.sums(given, first, second)
        torch.testing.assert_close(found[0], torch.einsum("bhij,bjhr->bihr", given.triu(1), first))
        torch.testing.assert_close(found[1], torch.einsum("bhij,bjhr->bihr", given.tril(-1), second))
