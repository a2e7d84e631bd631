"""The table of subsets, which kernels for GPUs run, has the answers of the CPU's kernels."""

import pytest
import torch

from strukt.distributions import KSubset, TableStructure
from strukt.structures.k_subset import polynomial_products


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_a_table_of_all_sizes(n):
    generator = torch.Generator().manual_seed(n)
    taken, omitted = torch.randn(2, 2, n, generator=generator, dtype=torch.float64)
    sizes = torch.full((2, n + 1), -torch.inf, dtype=torch.float64)
    sizes[:, n // 2 : n] = 0.0
    table = TableStructure(polynomial_products.build(n), torch.cat([taken, omitted, sizes], -1))
    subsets = KSubset(taken, (n // 2, n - 1), omitted=omitted)
    assert torch.allclose(table.log_partition, subsets.log_partition)
    assert torch.allclose(table.marginals[:, :n], subsets.marginals)
    assert torch.allclose(table.max_score, subsets.max_score)
    assert torch.allclose(table.entropy(), subsets.entropy())


@pytest.mark.parametrize("n", [1, 7, 64, 1500])
def test_the_bound_on_cells(n):
    assert len(polynomial_products.build(n).maker) <= polynomial_products.cells(n)
