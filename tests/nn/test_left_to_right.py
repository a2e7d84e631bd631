"""What all language models keep that read from left to right."""

from functools import partial

import pytest
import torch
from tests.nn.left_to_right_models import ATTENTIONS, ENCODERS, FED, WORDS, causal, recurrent

MODELS = {f"recurrent, {name}": partial(recurrent, name) for name in [*ATTENTIONS, *FED]} | {
    f"causal, {name}": partial(causal, name) for name in ENCODERS
}


@pytest.fixture(params=sorted(MODELS))
def model(request):
    torch.manual_seed(0)
    return MODELS[request.param]()


def test_each_word_is_scored_by_the_distribution_behind_those_before_it(model):
    x, full = torch.randint(WORDS, (3, 5)), torch.full((3,), 5)
    log_probs, _ = model(x, full)
    state = model.beginning(3)
    for t in range(5):
        probabilities = model.next(state)
        torch.testing.assert_close(probabilities.exp().sum(1), torch.ones(3))
        torch.testing.assert_close(log_probs[:, t], probabilities.gather(1, x[:, t : t + 1])[:, 0])
        _, state = model(x[:, t : t + 1], torch.ones(3, dtype=torch.long), state)


def test_padding_counts_nothing_and_changes_nothing(model):
    x, lengths = torch.randint(WORDS, (3, 5)), torch.tensor([5, 0, 2])
    found, _ = model(x, lengths)
    assert found[1].tolist() == [0] * 5
    assert found[2, 2:].tolist() == [0] * 3
    torch.testing.assert_close(found[2, :2], model(x[2:, :2], lengths[2:])[0][0])


def test_dropout_is_for_training(model):
    x, lengths = torch.randint(WORDS, (3, 5)), torch.full((3,), 5)
    assert torch.equal(model(x, lengths)[0], model(x, lengths)[0])
    model.train()
    assert not torch.equal(model(x, lengths)[0], model(x, lengths)[0])


def test_no_words_leave_the_state_as_it_is(model):
    state = model.beginning(2)
    log_probs, after = model(torch.zeros(2, 0, dtype=torch.long), torch.zeros(2, dtype=torch.long), state)
    assert log_probs.shape == (2, 0)
    assert after.word.tolist() == state.word.tolist()


def test_biases_may_begin_with_counts(model):
    counts = torch.arange(WORDS)
    model.begin_with(counts)
    torch.testing.assert_close(model.bias.softmax(0), (counts + 1) / (counts + 1).sum())
    with pytest.raises(ValueError, match=r"counts has shape \(1,\); expected"):
        model.begin_with(counts[:1])
