"""Next states are drawn with the frequencies that the transition matrix gives them."""

import math

import pytest
import torch
from scipy.stats import chisquare
from tests.structures.hmm.test_forward_backward import KINDS, scores, split

from strukt import HMM, Banded, Blocked, Dense, Embedded, Gaussian, InfeasibleError, LowRank, Poisson
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


FORBIDDEN = -math.inf
ENDS = {  # state 0 is followed by state 1, which has no successor
    "dense": Dense(torch.tensor([[FORBIDDEN, 0.0], [FORBIDDEN, FORBIDDEN]])),
    "banded": Banded(torch.tensor([[FORBIDDEN, FORBIDDEN, 0.0], [FORBIDDEN] * 3])),
    "low rank": LowRank(torch.tensor([[0.0], [FORBIDDEN]]), torch.tensor([[FORBIDDEN], [0.0]])),
    "low rank and band": LowRank(
        torch.full((2, 1), FORBIDDEN), torch.zeros(2, 1), torch.tensor([[0.0, 0.0, 0.0], [FORBIDDEN] * 3])
    ),
}


@pytest.mark.parametrize("transition", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("emission", [torch.zeros(2, 3), Poisson(torch.ones(2))], ids=["words", "counts"])
def test_samples_end_where_no_state_follows(transition, emission):
    hmm = HMM(torch.tensor([FORBIDDEN, 0.0]), transition, emission)
    assert hmm.sample((5,), length=1).shape == (5, 1)
    with pytest.raises(InfeasibleError, match="reached state 1, which has no successor"):
        hmm.sample((5,), length=4)
    with pytest.raises(InfeasibleError, match="no mode or sample"):
        hmm.predict_next(torch.zeros(1, dtype=torch.int64))


def test_next_observations_are_given_that_there_are_some():
    hmm = HMM(torch.zeros(2), ENDS["dense"], Gaussian(torch.tensor([[0.0], [5.0]]), torch.ones(2, 1)))
    assert hmm.predict_next(torch.tensor([[0.0]])).mean.item() == pytest.approx(5.0)


def test_a_first_state_must_be_possible():
    hmm = HMM(torch.full((2,), FORBIDDEN), torch.zeros(2, 2), torch.zeros(2, 3))
    with pytest.raises(InfeasibleError, match="initial is -inf for all states"):
        hmm.sample((), length=1)
    assert hmm.sample((0,), length=3).shape == (0, 3)
    assert hmm.sample((4,), length=0).shape == (4, 0)


MUTE = {  # state 1 emits no word
    "table": torch.tensor([[0.0, 1.0], [FORBIDDEN, FORBIDDEN]]),
    "blocks": Blocked(torch.tensor([[0.0, 1.0]]), torch.tensor([0, 0]), 2),
}


@pytest.mark.parametrize("emission", MUTE.values(), ids=MUTE)
def test_a_state_without_words_is_never_that_of_a_missing_word(emission):
    hmm = HMM(torch.zeros(2), torch.zeros(2, 2), emission)
    filled = hmm.infill(torch.tensor([0, 1, 0]), torch.tensor([True, False, True]))
    expected = torch.tensor([0.0, 1.0]).softmax(0)
    for place in (0, 2):
        assert torch.allclose(filled.log_probs[place].exp(), expected)
    with pytest.raises(InfeasibleError, match="state 1 emits no word"):
        hmm.sample((50,), length=1)
    onward = HMM(torch.tensor([0.0, FORBIDDEN]), torch.tensor([[FORBIDDEN, 0.0], [0.0, 0.0]]), emission)
    with pytest.raises(InfeasibleError, match="no mode or sample"):
        onward.predict_next(torch.tensor([0]))


def test_a_word_must_be_possible():
    emission = Embedded(torch.zeros(2, 1), torch.zeros(3, 1), torch.full((3,), FORBIDDEN))
    with pytest.raises(ValueError, match="bias is -inf for all words"):
        HMM(torch.zeros(2), torch.zeros(2, 2), emission)
