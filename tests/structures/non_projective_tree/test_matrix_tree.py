"""Sums over non-projective trees at sizes and scales where determinants in floating point are wrong."""

import math

import pytest
import torch
from tests.scores import normal
from tests.structures.non_projective_tree.matrix_tree import log_partition_and_marginals

from strukt.distributions import NonProjectiveTree
from strukt.testing import brute_force

ROOTS = pytest.mark.parametrize("single_root", [True, False], ids=["single root", "any root"])


@ROOTS
def test_the_many_digits_agree_with_enumeration(single_root):
    arcs = 3 * normal(4, 5)
    table = brute_force.non_projective_tree(4, arcs, single_root)
    log_partition, marginals = log_partition_and_marginals(arcs, single_root)
    assert log_partition == pytest.approx(table.log_partition.item(), abs=1e-12)
    assert torch.allclose(marginals, table.marginals, atol=1e-12)


@ROOTS
@pytest.mark.parametrize("coupling", [20, 100, 1000])
def test_strongly_coupled_cycles(coupling, single_root):
    """Words that pull at each other: the determinant is a difference of nearly equal products."""
    arcs = normal(4, 5)
    arcs[0, 2] += coupling
    arcs[1, 1] += coupling
    arcs[2, 4] += coupling
    arcs[3, 3] += coupling
    for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 1e-4)):
        given = arcs.to(dtype)
        table = brute_force.non_projective_tree(4, given, single_root)
        tree = NonProjectiveTree(given, single_root=single_root)
        assert tree.log_partition.item() == pytest.approx(table.log_partition.item(), rel=tolerance)
        assert torch.allclose(tree.marginals.double(), table.marginals, atol=tolerance)
        assert tree.entropy().item() == pytest.approx(table.entropy().item(), abs=10 * tolerance)


@ROOTS
def test_derivatives_of_marginals_of_strongly_coupled_words(single_root):
    arcs, direction = normal(4, 5), normal(4, 5, seed=1)
    arcs[[0, 1, 2, 3], [2, 1, 4, 3]] += 300.0
    arcs.requires_grad_()
    tree = NonProjectiveTree(arcs, single_root=single_root)
    table = brute_force.non_projective_tree(4, arcs, single_root)
    gradients = [torch.autograd.grad((each.marginals * direction).sum(), arcs)[0] for each in (tree, table)]
    assert torch.allclose(*gradients, atol=1e-12)


@ROOTS
def test_forbidden_arcs_among_many_words(single_root):
    generator = torch.Generator().manual_seed(0)
    arcs = normal(12, 13)
    chain = torch.zeros(12, 13, dtype=torch.bool)
    chain[torch.arange(12), torch.arange(12)] = True
    arcs[(torch.rand(12, 13, generator=generator) < 0.7) & ~chain] = -math.inf
    log_partition, marginals = log_partition_and_marginals(arcs, single_root)
    tree = NonProjectiveTree(arcs, single_root=single_root)
    assert tree.log_partition.item() == pytest.approx(log_partition, rel=1e-10)
    assert torch.allclose(tree.marginals, marginals, atol=1e-10)
    assert (tree.marginals[arcs == -math.inf] == 0).all()


@pytest.mark.parametrize("n", [1, 2, 10, 60])
def test_numbers_of_trees_are_cayleys(n):
    arcs = torch.zeros(n, n + 1, dtype=torch.float64)
    single, multiple = (NonProjectiveTree(arcs, single_root=root).log_count.item() for root in (True, False))
    assert single == pytest.approx((n - 1) * math.log(n), abs=1e-9)
    assert multiple == pytest.approx((n - 1) * math.log(n + 1), abs=1e-9)


@pytest.mark.parametrize("single_root", [False, True])
def test_pairs_that_strongly_attract_have_one_root_each_if_that_is_allowed(single_root):
    arcs = torch.full((4, 5), -1000.0, dtype=torch.float64)
    arcs[:, 0] = 0.0
    for word, partner in ((0, 2), (1, 1), (2, 4), (3, 3)):
        arcs[word, partner] = 1000.0
    marginals = NonProjectiveTree(arcs, single_root=single_root).marginals
    chosen = marginals[[0, 1, 2, 3], [2, 1, 4, 3]]
    assert torch.allclose(chosen, torch.full((4,), 0.5, dtype=torch.float64))
    assert torch.allclose(marginals[:, 0].sum(), torch.tensor(1.0 if single_root else 2.0, dtype=torch.float64))
