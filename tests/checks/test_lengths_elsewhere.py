"""Lengths on the CPU with scores on another device: they are checked where they are, and nothing waits."""

import pytest
import torch
from tests.elsewhere import DEVICE, elsewhere

from strukt.distributions import CTC, LinearChain, MonotoneAlignment, Transducer

GIVEN = {"list": [3, 1], "tensor": torch.tensor([3, 1])}


@pytest.mark.parametrize("lengths", GIVEN.values(), ids=GIVEN.keys())
def test_lengths_of_the_cpu_are_moved(lengths):
    with elsewhere() as (moved, waits):
        scores = moved(torch.zeros(2, 3, 2)), moved(torch.zeros(2, 2))
        chain = LinearChain(*scores, lengths, validate_args=False)
        assert chain.lengths.device == DEVICE
        assert waits == []
        assert chain.lengths.tolist() == [3, 1]


@pytest.mark.parametrize("lengths", [[4, 1], torch.tensor([4, 1])])
def test_lengths_of_the_cpu_are_checked_always(lengths):
    with elsewhere() as (moved, _), pytest.raises(ValueError, match=r"lengths holds .*expected 0 to 3"):
        LinearChain(moved(torch.zeros(2, 3, 2)), moved(torch.zeros(2, 2)), lengths, validate_args=False)


def test_lengths_of_the_device_are_checked_on_request():
    with elsewhere() as (moved, waits):
        scores, lengths = (moved(torch.zeros(2, 3, 2)), moved(torch.zeros(2, 2))), moved(torch.tensor([4, 1]))
        with pytest.raises(ValueError, match=r"lengths holds .*expected 0 to 3"):
            LinearChain(*scores, lengths)
        waits.clear()
        LinearChain(*scores, lengths, validate_args=False)
        assert waits == []


def test_both_lengths_of_pairs():
    """Nothing waits for those of targets either."""
    with elsewhere() as (moved, waits):
        CTC(moved(torch.zeros(2, 3, 2)), moved(torch.ones(2, 1).long()), [3, 3], [1, 0], validate_args=False)
        MonotoneAlignment.from_moves(moved(torch.zeros(2, 3, 2, 3)), None, [3, 2], [2, 1], validate_args=False)
        Transducer(moved(torch.zeros(2, 3, 2, 2)), [3, 2], [1, 0], validate_args=False)
        assert waits == []
