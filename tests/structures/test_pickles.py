"""Distributions pass between processes, such as workers of a data loader, and are copied."""

import copy
import pickle

import pytest
import torch

from strukt.testing.subjects import STRUCTURES


@pytest.mark.parametrize("subject", STRUCTURES, ids=lambda subject: subject.name)
def test_they_are_pickled_and_copied(subject):
    distribution = subject.case((2,)).distribution()
    for other in (pickle.loads(pickle.dumps(distribution)), copy.deepcopy(distribution), copy.copy(distribution)):
        assert repr(other) == repr(distribution)
        assert other.oracles is distribution.oracles
        assert all(map(torch.equal, other._arguments()[:-1], distribution._arguments()[:-1]))
