"""Next states are drawn with the frequencies that the transition matrix gives them."""

import pytest
import torch
from scipy.stats import chisquare
from tests.structures.hmm.test_forward_backward import KINDS, scores, split

from strukt.structures.hmm import sampling
from strukt.structures.hmm.steps import steps


@pytest.mark.parametrize("kind", KINDS)
def test_next_states_have_their_frequencies(kind):
    torch.manual_seed(0)
    _, _, matrices, band = split(kind, scores(kind))
    states = torch.arange(7).repeat_interleave(2000)
    drawn = sampling.next_states(states, matrices, band).view(7, 2000)
    moving = steps(matrices, band)
    expected = 2000 * moving.advance(moving.message(torch.eye(7, dtype=torch.float64)))
    for state in range(7):
        counts = torch.bincount(drawn[state], minlength=7)
        likely = expected[state] > 5
        assert (counts[expected[state] == 0] == 0).all()
        assert (
            chisquare(counts[likely].numpy(), expected[state][likely].numpy(), sum_check=False).pvalue > 1e-4
        )
