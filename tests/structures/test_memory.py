"""Integers out of range and NaN that no check sees: kernels stay within their arrays."""

import pytest
import torch

from strukt import CTC, KSubset, LinearChain

traced = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")


def compiled(function):
    torch.compiler.reset()
    return torch.compile(function, backend="eager")


@traced
def test_compiled_graphs_read_lengths_out_of_range_as_the_nearest_valid_ones():
    unary = torch.randn(2, 4, 3)
    log_partition = compiled(lambda lengths: LinearChain(unary, torch.zeros(3, 3), lengths).log_partition)
    expected = LinearChain(unary, torch.zeros(3, 3), torch.tensor([4, 0])).log_partition
    torch.testing.assert_close(log_partition(torch.tensor([500, -2])), expected)


@traced
def test_compiled_graphs_read_labels_out_of_range_as_the_nearest_valid_ones():
    logits = torch.randn(2, 4, 3)
    log_partition = compiled(lambda targets: CTC(logits, targets).log_partition)
    expected = CTC(logits, torch.tensor([[1, 2], [2, 1]])).log_partition
    torch.testing.assert_close(log_partition(torch.tensor([[1, 900], [2, 1]])), expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda scores: LinearChain(scores, torch.zeros(3, 3), validate_args=False),
        lambda scores: CTC(scores, torch.tensor([1, 2]), validate_args=False),
    ],
)
def test_the_k_best_structures_of_nan_end(make):
    scores = torch.zeros(4, 3)
    scores[1, 0] = torch.nan
    assert make(scores).topk(2).events.shape == (2, 4)


def test_a_negative_size_is_as_0():
    best = KSubset(torch.zeros(3), (torch.tensor(-100_000), torch.tensor(1)), validate_args=False).topk(5)
    events = {tuple(event) for event in best.events.tolist()}
    assert events == {(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (-1, -1, -1)}
