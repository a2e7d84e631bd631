"""Samples: different from each other, and decided by the seed of PyTorch alone."""

import random

import numpy as np
import torch
from tests.further import SUBJECTS
from tests.known_failures.everything import LONG, LONG_NAMES, long_scores


def drawn(distribution, shape=(1000,)):
    torch.manual_seed(7)
    return distribution.sample(shape)


@SUBJECTS
def test_a_thousand_samples_differ_and_only_the_seed_decides(subject):
    """A thousand identical trees from one call; twenty trees from one seed, because another generator drew."""
    distribution = subject.case(()).distribution()
    np.random.seed(0)
    random.seed(0)
    first = drawn(distribution)
    np.random.seed(1)
    random.seed(1)
    assert torch.equal(drawn(distribution), first)
    assert len(first.unique(dim=0)) > 2
    assert not torch.equal(distribution.sample((1000,)), first)


@LONG_NAMES
def test_threads_do_not_change_samples(name):
    """Each thread with a generator of its own would draw by chance of scheduling."""
    make, scores = LONG[name][0], long_scores(name)
    distribution = make(*scores)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = drawn(distribution, (8,))
        torch.set_num_threads(4)
        assert torch.equal(drawn(distribution, (8,)), alone)
    finally:
        torch.set_num_threads(threads)
