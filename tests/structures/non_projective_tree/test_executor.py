"""Matrix-Tree sums by few operations equal those of the kernels for CPUs."""

import pytest
import torch

from strukt.structures.non_projective_tree import cpu, executor

LENGTHS = [1, 2, 3, 5, 12]


def answers(backend, arcs, lengths, single_root):
    total, chart = backend.inside(arcs, lengths, single_root)
    weights = torch.linspace(0.5, 1.5, len(arcs), dtype=arcs.dtype)
    return total, backend.outside(arcs, lengths, single_root, weights, chart)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("scale", [1.0, 300.0, 1e5])
@pytest.mark.parametrize("n", LENGTHS)
def test_equals_the_kernels(n, scale, single_root):
    generator = torch.Generator().manual_seed(n)
    arcs = scale * torch.randn(12, n, n + 1, generator=generator, dtype=torch.float64)
    arcs = arcs.masked_fill(torch.rand(arcs.shape, generator=generator) < 0.2, -torch.inf)
    lengths = torch.arange(12) % (n + 1)
    (total, uses), expected = (answers(each, arcs, lengths, single_root) for each in (executor, cpu))
    torch.testing.assert_close(total, expected[0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(uses, expected[1], rtol=1e-9, atol=1e-12)


def test_a_word_may_have_the_root_only():
    """Its arc to a single root is certain, so that others have none."""
    arcs = torch.zeros(1, 3, 4, dtype=torch.float64)
    arcs[0, 1, 1:] = -torch.inf
    total, uses = answers(executor, arcs, torch.tensor([3]), True)
    assert total.exp().round() == 3
    assert uses[0, :, 0].tolist() == [0.0, 0.5, 0.0]


def test_two_words_that_have_the_root_only_are_no_tree():
    arcs = torch.zeros(1, 3, 4, dtype=torch.float64)
    arcs[0, :2, 1:] = -torch.inf
    total, uses = answers(executor, arcs, torch.tensor([3]), True)
    assert total == -torch.inf
    assert not uses.any()


def test_words_that_prefer_each_other_lose_no_digits():
    arcs = torch.zeros(1, 2, 3, dtype=torch.float64)
    arcs[0, 0, 2] = arcs[0, 1, 1] = 60.0
    total, uses = answers(executor, arcs, torch.tensor([2]), True)
    assert total == 60.0 + torch.tensor(2.0, dtype=torch.float64).log()
    torch.testing.assert_close(uses[0], torch.tensor([[0.25, 0, 0.25], [0.25, 0.25, 0]], dtype=torch.float64))
