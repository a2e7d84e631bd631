"""Emissions against tables of words in states."""

import math
import re

import pytest
import torch
from tests.scores import normal
from torch.autograd import gradcheck

from strukt.distributions import HMM, Blocked, Categorical, Embedded, LowRank

BLOCKS = torch.tensor([1, 0, 1, 2, 1, 0])


def embedded(seed=0, z=6):
    return Embedded(normal(z, 3, seed=seed), normal(6, 3, seed=seed + 1), normal(6, seed=seed + 2))


def blocked(seed=0):
    return Blocked(normal(2, 6, seed=seed), BLOCKS, 3)


def categorical(seed=0):
    return Categorical(normal(6, 6, seed=seed))


KINDS = {"categorical": categorical, "embedded": embedded, "blocked": blocked}
kinds = pytest.mark.parametrize("kind", KINDS)


def expected_table(emission):
    """The log-probabilities ``(z, v)``, from the definitions."""
    if isinstance(emission, Categorical):
        return emission.logits.log_softmax(1)
    if isinstance(emission, Embedded):
        return (emission.vectors @ emission.word_vectors.mT + emission.bias).log_softmax(1)
    rows = []
    for state in range(emission.states):
        own = state // len(emission.logits) == emission.blocks
        logits = emission.logits[state % len(emission.logits)]
        rows.append(torch.where(own, logits, -math.inf).log_softmax(0))
    return torch.stack(rows)


@kinds
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
def test_words_may_be_integers_of_any_type(kind, dtype):
    model = HMM(normal(6), normal(6, 6), KINDS[kind]())
    x = torch.tensor([[0, 1, 5], [1, 1, 0]])
    assert torch.equal(model.log_prob(x.to(dtype)), model.log_prob(x))
    assert torch.equal(model.smooth(x.to(dtype)), model.smooth(x))
    counts = model.expected_counts(x.to(dtype)).emission
    assert torch.equal(counts, model.expected_counts(x).emission)
    missing = torch.tensor([[False, True, False], [False, False, False]])
    torch.manual_seed(0)
    expected = model.infill(x, missing)
    torch.manual_seed(0)
    assert torch.equal(model.infill(x.to(dtype), missing).log_probs, expected.log_probs)


@kinds
def test_log_probabilities_of_words_and_of_states_are_those_of_the_definition(kind):
    emission = KINDS[kind]()
    table = expected_table(emission)
    assert (emission.states, emission.words) == table.shape
    torch.testing.assert_close(emission.table(), table.mT)
    words, states = torch.tensor([4, 0, 4]), torch.tensor([5, 2])
    torch.testing.assert_close(emission.of_words(words), table[:, words].mT)
    torch.testing.assert_close(emission.of_states(states), table[states])
    torch.testing.assert_close(table.exp().sum(1), torch.ones(6, dtype=torch.float64))


@kinds
def test_a_model_is_that_with_the_table_of_its_emission(kind):
    emission, x = KINDS[kind](), torch.tensor([[0, 3, 2, 5], [1, 1, 4, 2]])
    parts = normal(6, seed=7), LowRank(normal(6, 2, seed=8), normal(6, 2, seed=9))
    one, other = HMM(*parts, emission), HMM(*parts, Categorical(expected_table(emission)))
    lengths, missing = torch.tensor([4, 3]), torch.tensor([False, True, False, False])
    torch.testing.assert_close(one.log_prob(x, lengths), other.log_prob(x, lengths))
    torch.testing.assert_close(one.predict(x), other.predict(x))
    torch.testing.assert_close(one.stream(x), other.stream(x))
    torch.testing.assert_close(one.posterior(x).entropy(), other.posterior(x).entropy())
    torch.testing.assert_close(*(model.infill(x[0], missing).log_probs for model in (one, other)))


@kinds
def test_sampled_words_have_the_probabilities_of_the_emission(kind):
    torch.manual_seed(0)
    emission = KINDS[kind]()
    only = torch.full((6,), -math.inf, dtype=torch.float64)
    only[4] = 0.0
    drawn = HMM(only, torch.zeros(6, 6, dtype=torch.float64), emission).sample((20_000,), 1).squeeze(1)
    shares = torch.bincount(drawn, minlength=6) / len(drawn)
    torch.testing.assert_close(shares.double(), expected_table(emission)[4].exp(), atol=0.015, rtol=0)


def test_gradients_of_sentences_in_what_emissions_are_made_of():
    x, lengths = torch.tensor([[0, 3, 2], [1, 5, 4]]), torch.tensor([3, 2])
    initial, transition = normal(6, seed=1), normal(6, 6, seed=2)

    def of_vectors(*parts):
        return HMM(initial, transition, Embedded(*parts)).log_prob(x, lengths)

    def of_blocks(logits):
        return HMM(initial, transition, Blocked(logits, BLOCKS, 3)).log_prob(x, lengths)

    assert gradcheck(of_vectors, [part.clone().requires_grad_() for part in embedded().parameters])
    assert gradcheck(of_blocks, [blocked().logits.clone().requires_grad_()])


@kinds
def test_selected_states_keep_their_words(kind):
    emission, states = KINDS[kind](), torch.tensor([1, 2, 5])
    found = emission.select(states)
    torch.testing.assert_close(expected_table(found), expected_table(emission)[states])


@pytest.mark.parametrize("states", [[0, 1, 5], [0, 2], [2, 0, 4], [0, 1, 2, 3, 4]])
def test_as_many_states_are_selected_of_each_block(states):
    with pytest.raises(ValueError, match="equally many of each of the 3 blocks"):
        blocked().select(torch.tensor(states))


@pytest.mark.parametrize("kind", ["categorical", "blocked"])
def test_expectation_maximisation_never_lowers_the_likelihood(kind):
    model = HMM(normal(6, seed=3), normal(6, 6, seed=4), KINDS[kind]())
    x = torch.tensor([[0, 3, 2, 5, 1], [1, 1, 4, 2, 3]])
    before = model.log_prob(x).sum()
    for _ in range(4):
        model = model.maximised(model.expected_counts(x))
        assert model.log_prob(x).sum() > before
        before = model.log_prob(x).sum()


def test_counts_give_relative_frequencies_within_a_block():
    counts = torch.tensor([[0.0, 3.0, 0.0, 0.0, 0.0, 1.0], [0.0] * 6, [2.0, 0.0, 1.0, 0.0, 1.0, 0.0]])
    counts = torch.cat([counts, torch.zeros(3, 6)]).double()
    emission = blocked()
    table = expected_table(emission.maximised(counts)).exp()
    torch.testing.assert_close(table[0], torch.tensor([0, 0.75, 0, 0, 0, 0.25]).double())
    torch.testing.assert_close(table[2], torch.tensor([0.5, 0, 0.25, 0, 0.25, 0]).double())
    torch.testing.assert_close(table[3:], expected_table(emission).exp()[3:])


def test_vectors_have_no_closed_form():
    with pytest.raises(NotImplementedError, match="no closed form"):
        embedded().maximised(torch.ones(6, 6))


def test_states_without_a_word_are_impossible_and_have_no_gradient():
    logits = normal(2, 6)
    logits[1, [1, 5]] = -math.inf
    logits.requires_grad_()
    emission = Blocked(logits, BLOCKS, 3)
    assert emission.of_states(torch.tensor([1])).eq(-math.inf).all()
    found = HMM(normal(6, seed=1), normal(6, 6, seed=2), emission).log_prob(torch.tensor([1, 2]))
    (grad,) = torch.autograd.grad(found, logits)
    assert grad.isfinite().all()
    assert grad[1, [1, 5]].eq(0).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Categorical(torch.zeros(3, 0)), "emission has shape (3, 0); expected (z, v)"),
        (
            lambda: Embedded(torch.zeros(3, 2), torch.zeros(4, 3)),
            "vectors (3, 2), word_vectors (4, 3), bias (4,)",
        ),
        (lambda: Embedded(torch.zeros(3, 2), torch.zeros(4, 2), torch.zeros(3)), "bias (3,)"),
        (lambda: Blocked(torch.zeros(2, 4), torch.zeros(3, dtype=torch.long), 2), "blocks (3,)"),
        (lambda: Blocked(torch.zeros(2, 4), torch.tensor([0, 1, 1, 0]), 2.5), "count 2.5; expected"),
        (
            lambda: Blocked(torch.zeros(2, 4), torch.tensor([0, 1, 2, 0]), 2),
            "blocks holds 0 to 2; expected 0 to 1",
        ),
        (lambda: HMM(torch.zeros(3), torch.zeros(3, 3), embedded(z=4)), "Embedded((4, 3), (6, 3), (6,))"),
    ],
)
def test_errors_say_what_is_wrong(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()
