"""Language models of causal encoders: blind to what follows, and the same in pieces."""

import pytest
import torch
from tests.nn.left_to_right_models import ENCODERS, WINDOW, WORDS, causal

from strukt.nn import MeanFieldEncoder, Transformer
from strukt.nn.causal import CausalLanguageModel


@pytest.fixture(params=sorted(ENCODERS))
def model(request):
    torch.manual_seed(0)
    return causal(request.param)


def test_a_text_in_pieces_is_the_text_as_far_as_the_window_goes(model):
    x = torch.randint(WORDS, (2, 3 * WINDOW))
    whole, _ = model(x[:, :WINDOW], torch.full((2,), WINDOW))
    state, pieces = None, []
    for start, end in ((0, 4), (4, 5), (5, WINDOW)):
        log_probs, state = model(x[:, start:end], torch.full((2,), end - start), state)
        pieces.append(log_probs)
    torch.testing.assert_close(torch.cat(pieces, 1), whole)
    _, state = model(x[:, WINDOW:], torch.full((2,), 2 * WINDOW), state)
    assert state.memory.shape == (2, WINDOW)


def test_an_encoder_that_sees_what_follows_is_refused():
    for encoder in (Transformer(8, 8, heads=2), MeanFieldEncoder(8, 8, channels=2, rank=2)):
        with pytest.raises(
            ValueError, match="encoder sees words to the right; expected one with causal=True"
        ):
            CausalLanguageModel(WORDS, 8, encoder)


def test_a_window_below_zero_is_refused():
    encoder = Transformer(8, 8, heads=2, causal=True)
    with pytest.raises(ValueError, match="window is -1; expected 0 or more"):
        CausalLanguageModel(9, 8, encoder, window=-1)
