"""Sampling without replacement: distinct structures, until none is left."""

import pytest
import torch
from tests.mappings.test_sparsemax_entmax import normal

from strukt.distributions import BitSpanTree, LinearChain
from strukt.errors import InfeasibleError


def test_distinct_samples_are_distinct_on_a_peaked_distribution():
    """Independent samples would take e^30 draws to find a second structure."""
    unary = normal(20, 5)
    unary[:, 0] += 30
    chain = LinearChain(unary, normal(5, 5))
    torch.manual_seed(0)
    events = chain.sample_without_replacement(12)
    assert len(torch.unique(events, dim=0)) == 12
    assert (chain.score(events) > -torch.inf).all()


def test_far_more_samples_than_structures():
    """A round for each of a million samples, though the eight structures are drawn in the first eight."""
    chain = LinearChain(normal(3, 2), normal(2, 2))
    events = chain.sample_without_replacement(1_000_000)
    assert events.shape == (1_000_000, 3)
    assert len(torch.unique(events[:8], dim=0)) == 8
    assert (events[8:] == -1).all()


def test_nothing_to_sample():
    unary = normal(2, 3, 2)
    unary[1, 2] = -torch.inf
    with pytest.raises(InfeasibleError, match="item 1"):
        LinearChain(unary, torch.zeros(2, 2)).sample_without_replacement(2)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda chain: chain.sample_without_replacement(0), "k is 0; expected a positive integer"),
        (lambda chain: chain.sample_without_replacement(2.0), "k is 2.0; expected a positive integer"),
    ],
)
def test_wrong_arguments_are_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(LinearChain(normal(3, 2), normal(2, 2)))


def test_codes_are_not_separated_by_their_parts():
    with pytest.raises(NotImplementedError, match="keep the distinct ones"):
        BitSpanTree(torch.zeros(3, 3, 2)).sample_without_replacement(2)


def test_vmap_is_told_to_use_a_batch_axis():
    def draw(unary):
        return LinearChain(unary, torch.zeros(2, 2)).sample_without_replacement(2)

    with pytest.raises(NotImplementedError, match="give them a batch axis"):
        torch.vmap(draw, randomness="different")(normal(2, 3, 2))
