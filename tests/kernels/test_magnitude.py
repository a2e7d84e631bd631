"""Which scores are too large for kernels, and that a gradient goes the way that its forward pass went."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.engine.gpu.device import DEVICE, by_kernels, runs

from strukt.distributions import LinearChain
from strukt.kernels import dispatch
from strukt.kernels.magnitude import FEW, LARGE, are_within, beyond
from strukt.testing.subjects import STRUCTURES

ORACLES = LinearChain.oracles
SUMMED = {
    subject.name.split(",")[0]: subject
    for subject in STRUCTURES
    if not {"log_partition", "marginals"} & subject.lacks
}
"""One structure of each kind."""

needs_numba = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)


def never():
    raise AssertionError("the log-partition is asked for")


@given(st.lists(st.floats(width=32), max_size=6), st.sampled_from([1.0, 1e8, 1e15]), st.booleans())
def test_whatever_is_said_to_be_within_is(numbers, bound, many):
    values = np.resize(np.array([*numbers, 0.5], np.float32), FEW + 1 if many else len(numbers) + 1)
    if are_within(values, bound):
        assert np.all(np.abs(values) < bound)
    elif many:
        assert not np.all(np.abs(values) < bound)


@pytest.mark.parametrize("count", [0, 20, 2 * FEW])
def test_everyday_scores_are_within(count):
    assert are_within(np.random.default_rng(0).normal(scale=100.0, size=count), LARGE)


@pytest.mark.parametrize("own", [(2, 1, 3), (1, 1, 2), (1, 1)])
def test_of_what_is_expanded_every_number_is_looked_at(own):
    for place in np.ndindex(own):
        values = np.ones(own)
        expanded = np.broadcast_to(values, (*own[:-2], FEW, own[-1]))
        assert are_within(expanded, LARGE)
        values[place] = 2 * LARGE
        assert not are_within(expanded, LARGE)


@pytest.mark.parametrize("padding", [0.0, torch.nan, -torch.inf])
@pytest.mark.parametrize("count", [4, 2 * FEW])
def test_one_large_score_is_enough(count, padding):
    scores = torch.full((1, count), padding)
    assert not beyond([torch.zeros(1, 3), scores], never)
    scores[0, 1] = 2 * LARGE
    assert beyond([torch.zeros(1, 3), scores], never)


@pytest.mark.skipif(not runs, reason="needs a GPU or Triton's interpreter")
@pytest.mark.parametrize("wrong", [None, float("nan"), float("inf"), 2e8, -2e8])
def test_a_gpu_sees_what_is_not_ordinary(wrong):
    from strukt.kernels.magnitude import gpu

    scores = torch.full((3, 3000), -float("inf")).index_fill_(1, torch.tensor([7, 2990]), 1e8)
    if wrong is not None:
        scores[2, 2999] = wrong
    shared = torch.zeros(1, 5).expand(4, 5)
    given = (shared.to(DEVICE), scores.to(DEVICE), scores[:0].to(DEVICE))
    assert by_kernels(gpu.are_ordinary, given, LARGE) == (wrong is None)


@pytest.mark.parametrize("padding", [0.0, torch.nan, -torch.inf])
def test_low_scores_count_where_the_log_partition_is_low(padding):
    scores = torch.tensor([[padding, -2 * LARGE]])
    assert not beyond([scores], lambda: torch.tensor([0.0, -torch.inf]))
    assert beyond([scores], lambda: torch.tensor([0.0, -2 * LARGE]))


@needs_numba
@pytest.mark.parametrize("kind", SUMMED)
@pytest.mark.parametrize("backends", [("reference", "cpu"), ("cpu", "reference")])
def test_another_backend_may_go_backwards(kind, backends):
    forwards, backwards = backends
    case = SUMMED[kind].case((2,)).map(lambda score: score.requires_grad_())

    def gradients(backward):
        with dispatch.using(forwards):
            total = case.distribution().log_partition.sum()
        with dispatch.using(backward):
            return torch.autograd.grad(total, case.scores)

    for found, expected in zip(gradients(backwards), gradients(forwards), strict=True):
        torch.testing.assert_close(found, expected)


@needs_numba
@pytest.mark.parametrize("size", [1.0, 1e12])
def test_an_empty_item_in_front_does_not_change_the_way(size, poisoned_memory):
    """The first numbers of its chart are those that memory held, and a NaN is what the reference leaves."""
    generator = torch.Generator().manual_seed(0)
    unary = size * torch.randn(2, 70, 12, generator=generator, dtype=torch.float64)
    transition = size * torch.randn(12, 12, generator=generator, dtype=torch.float64)
    behind = LinearChain(unary, transition, torch.tensor([0, 70])).marginals[1]
    assert torch.equal(behind, LinearChain(unary[1:], transition).marginals[0])
