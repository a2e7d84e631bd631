"""The recurrent language model: the same in pieces, however far attention looks back."""

import pytest
import torch
from tests.nn.left_to_right_models import ATTENTIONS, FED, recurrent

from strukt.nn.recurrent import RecurrentLanguageModel


@pytest.fixture(params=[*sorted(ATTENTIONS), *FED, "rnn"])
def model(request):
    torch.manual_seed(0)
    if request.param == "rnn":
        return RecurrentLanguageModel(7, 8, layers=2, cell="rnn").eval()
    return recurrent(request.param)


def test_a_text_in_pieces_is_the_text(model):
    x = torch.randint(7, (2, 9))
    whole, _ = model(x, torch.full((2,), 9))
    state, pieces = None, []
    for piece in x.split([2, 4, 1, 2], 1):
        log_probs, state = model(piece, torch.full((2,), piece.shape[1]), state)
        pieces.append(log_probs)
    torch.testing.assert_close(torch.cat(pieces, 1), whole)


def test_contexts_are_fed_in_where_there_are_some():
    with pytest.raises(ValueError, match="input_feeding is True without attention"):
        RecurrentLanguageModel(7, 8, input_feeding=True)


def test_cells_are_of_a_known_kind():
    with pytest.raises(ValueError, match="cell is 'gru'; expected lstm or rnn"):
        RecurrentLanguageModel(7, 8, cell="gru")


@pytest.mark.parametrize("kind", ["mean field", "mean field, fed"])
def test_looking_back_is_what_reading_does(kind):
    torch.manual_seed(0)
    model, x = recurrent(kind), torch.randint(7, (2, 6))
    outputs, _ = model.read(x, model.beginning(2))
    query, keys, places = model.look_back(x)
    assert (places.start, places.stop) == ((3, 6) if "fed" in kind else (2, 5))
    weights = model.attention.weights(query, keys, torch.ones(1, 1, 3, dtype=torch.bool))
    context = weights @ keys
    if "fed" in kind:
        before = model.read(x[:, :5], model.beginning(2))[1]
        step = torch.cat([model.vectors(x[:, 5:]), context], -1)
        last = model.decoder(step, (before.hidden[2:], before.cell[2:]))[0]
    else:
        last = model.join(torch.cat([query, context], -1))
    torch.testing.assert_close(last, outputs[:, 5:])
