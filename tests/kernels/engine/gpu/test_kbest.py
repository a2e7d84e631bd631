"""The k best structures of kernels for GPUs are those of the CPU, in the same order, also among equal scores."""

from functools import partial

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, by_kernels, needed

from strukt.distributions import BitSpanTree, LinearChain, ProjectiveTree, SpanTree
from strukt.kernels.engine.gpu import run

pytestmark = needed


def scores(*shape):
    """Zeros and ones, so that many structures have equal scores."""
    return torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(len(shape))).float()


def far_apart(*shape):
    """Scores of deviation 300, of which some are -inf."""
    generator = torch.Generator().manual_seed(0)
    forbidden = torch.rand(shape, generator=generator) < 0.2
    return torch.where(forbidden, -torch.inf, 300 * torch.randn(shape, generator=generator))


def agree(kind, k, *given, **options):
    """The events and scores of some structures are those of the CPU."""

    def found(device):
        distribution = kind(*(each.to(device) for each in given), **options, validate_args=False)
        return [each.cpu() for each in distribution.oracles.kbest(*distribution._arguments(), k)]

    events, best = by_kernels(found, DEVICE)
    right, expected = found("cpu")
    assert torch.equal(events, right)
    assert torch.allclose(best, expected, rtol=1e-6)


def test_chains_of_all_lengths(monkeypatch):
    """Blocks of two need several for the terms of a sum, and for the candidates."""
    if not ON_GPU:
        monkeypatch.setattr(run, "block", lambda size: 2)
    unary = torch.cat([scores(2, 5, 3), far_apart(3, 5, 3)])
    lengths = [3, 0, 5, 2, 1]
    for row, length in zip(unary, lengths, strict=True):
        row[length:] = torch.nan
    agree(LinearChain, 4, unary, scores(3, 3), lengths=lengths)


@pytest.mark.parametrize("n", [2, pytest.param(3, marks=() if ON_GPU else pytest.mark.slow)])
def test_labels_are_choices(n):
    """Two words have eight labelled trees, fewer than asked for."""
    agree(SpanTree, 9, scores(1, n + 1, n + 1, 2))


@pytest.mark.parametrize("n", [pytest.param(n, marks=() if ON_GPU else pytest.mark.slow) for n in (1, 2, 3, 5)])
def test_trees_of_equal_scores(n):
    agree(partial(ProjectiveTree, labelled=False), 8, scores(2, n, n + 1))


@pytest.mark.parametrize("n", [2] if ON_GPU else [pytest.param(1, marks=pytest.mark.slow)])
def test_codes_of_many_bits(n):
    """Numbers of 32 bits would overflow, on a GPU; the interpreter counts in Python."""
    agree(BitSpanTree, 5, torch.randn(n, n + 1, n + 1, 40, generator=torch.Generator().manual_seed(0)))
