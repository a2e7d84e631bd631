"""The C library keeps what is freed."""

import ctypes
import resource
import sys

import pytest
import torch
from tests import children

from strukt.train.memory import keep_freed_memory


def faults_of_large_blocks():
    """Page faults while blocks of 16 MiB are taken and freed, as in a training."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.zeros(4 << 20).add_(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def compare():
    given_back = faults_of_large_blocks()
    keep_freed_memory()
    faults_of_large_blocks()
    sys.exit(0 if faults_of_large_blocks() < given_back / 2 else 1)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="another C library than that of GNU")
def test_large_blocks_no_longer_fault():
    assert children.run(compare) == 0


def test_it_may_be_asked_for_twice():
    assert children.run(keep_freed_memory) == 0
