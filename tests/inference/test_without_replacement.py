"""Sampling without replacement: distinct structures, until none is left."""

import pytest
import torch

from strukt.distributions import BitSpanTree, LinearChain, SpanTree
from strukt.errors import InfeasibleError


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_distinct_samples_are_distinct_on_a_peaked_distribution():
    """Independent samples would take e^30 draws to find a second structure."""
    unary = normal(20, 5)
    unary[:, 0] += 30
    chain = LinearChain(unary, normal(5, 5))
    torch.manual_seed(0)
    events = chain.sample_without_replacement(12)
    assert len(torch.unique(events, dim=0)) == 12
    assert (chain.score(events) > -torch.inf).all()


def test_distinct_samples_of_all_trees():
    trees = SpanTree(normal(2, 6, 6), torch.tensor([5, 4]), labelled=False)
    events = trees.sample_without_replacement(20)
    assert events.shape == (2, 20, 6, 6)
    assert len(torch.unique(events[0, :14], dim=0)) == 14  # the Catalan number of 4
    assert (events[0, 14:] == -1).all()
    assert len(torch.unique(events[1, :5], dim=0)) == 5
    assert (events[1, 5:] == -1).all()


def test_shared_transitions_that_forbid():
    transition = torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]], dtype=torch.float64)
    events = LinearChain(normal(3, 4, 2), transition).sample_without_replacement(3)
    assert (events[:, :2].sum(-1).sort(-1).values == torch.tensor([0, 4])).all()
    assert (events[:, 2] == -1).all()


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
