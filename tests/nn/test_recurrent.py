"""The recurrent language model: normalised, and the same in pieces."""

import pytest
import torch

from strukt.nn import AdditiveAttention, MeanFieldAttention
from strukt.nn.recurrent import RecurrentLanguageModel

ATTENTIONS = {
    "none": lambda: None,
    "mean field": lambda: MeanFieldAttention(8, 8, 4, iterations=3),
    "additive": lambda: AdditiveAttention(8, 8, 4),
}


@pytest.fixture(params=sorted(ATTENTIONS))
def model(request):
    torch.manual_seed(0)
    attention = ATTENTIONS[request.param]()
    return RecurrentLanguageModel(
        words=7, size=8, layers=2, dropout=0.4, attention=attention, window=3
    ).eval()


def test_each_word_is_scored_by_the_distribution_behind_those_before_it(model):
    x, full = torch.randint(7, (3, 5)), torch.full((3,), 5)
    log_probs, _ = model(x, full)
    state = model.beginning(3)
    for t in range(5):
        probabilities = model.next(state)
        torch.testing.assert_close(probabilities.exp().sum(1), torch.ones(3))
        torch.testing.assert_close(log_probs[:, t], probabilities.gather(1, x[:, t : t + 1])[:, 0])
        _, state = model(x[:, t : t + 1], torch.ones(3, dtype=torch.long), state)


def test_padding_counts_nothing_and_changes_nothing(model):
    x, lengths = torch.randint(7, (3, 5)), torch.tensor([5, 0, 2])
    found, _ = model(x, lengths)
    assert found[1].tolist() == [0] * 5
    assert found[2, 2:].tolist() == [0] * 3
    torch.testing.assert_close(found[2, :2], model(x[2:, :2], lengths[2:])[0][0])


def test_dropout_is_for_training(model):
    x, lengths = torch.randint(7, (3, 5)), torch.full((3,), 5)
    assert torch.equal(model(x, lengths)[0], model(x, lengths)[0])
    model.train()
    assert not torch.equal(model(x, lengths)[0], model(x, lengths)[0])


def test_no_words_leave_the_state_as_it_is(model):
    state = model.beginning(2)
    log_probs, after = model(torch.zeros(2, 0, dtype=torch.long), torch.zeros(2, dtype=torch.long), state)
    assert log_probs.shape == (2, 0)
    assert after.word.tolist() == state.word.tolist()


def test_a_text_in_pieces_is_the_text(model):
    x = torch.randint(7, (2, 9))
    whole, _ = model(x, torch.full((2,), 9))
    state, pieces = None, []
    for piece in x.split([2, 4, 1, 2], 1):
        log_probs, state = model(piece, torch.full((2,), piece.shape[1]), state)
        pieces.append(log_probs)
    torch.testing.assert_close(torch.cat(pieces, 1), whole)


def test_attention_reaches_as_far_as_its_window():
    torch.manual_seed(0)
    model = RecurrentLanguageModel(7, 8, attention=MeanFieldAttention(8, 8, 4), window=3).eval()
    keys = torch.randn(1, 7, 8)
    expected = [[0, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 0]]
    assert model._before(3, keys)[0].int().tolist() == expected
