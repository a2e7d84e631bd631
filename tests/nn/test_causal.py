"""Language models of causal encoders: normalised, blind to what follows, and the same in pieces."""

import pytest
import torch

from strukt.nn import MeanFieldEncoder, Transformer
from strukt.nn.causal import CausalLanguageModel

WORDS, WINDOW = 7, 9
ENCODERS = {
    "mean field": lambda: MeanFieldEncoder(8, 8, channels=2, iterations=2, rank=3, causal=True),
    "absolute": lambda: Transformer(8, 8, layers=2, heads=2, causal=True),
    "relative": lambda: Transformer(8, 8, layers=2, heads=2, positions="relative", causal=True),
}


@pytest.fixture(params=sorted(ENCODERS))
def model(request):
    torch.manual_seed(0)
    return CausalLanguageModel(WORDS, 8, ENCODERS[request.param](), 0.4, WINDOW).eval()


def test_each_word_is_scored_by_the_distribution_behind_those_before_it(model):
    x, full = torch.randint(WORDS, (3, 5)), torch.full((3,), 5)
    log_probs, _ = model(x, full)
    state = model.beginning(3)
    for t in range(5):
        probabilities = model.next(state)
        torch.testing.assert_close(probabilities.exp().sum(1), torch.ones(3))
        torch.testing.assert_close(log_probs[:, t], probabilities.gather(1, x[:, t : t + 1])[:, 0])
        _, state = model(x[:, t : t + 1], torch.ones(3, dtype=torch.long), state)


def test_what_follows_changes_nothing(model):
    x = torch.randint(WORDS, (1, 6))
    other = torch.cat([x[:, :3], (x[:, 3:] + 1) % WORDS], 1)
    before, after = (model(words, torch.tensor([6]))[0] for words in (x, other))
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_padding_counts_nothing_and_changes_nothing(model):
    x, lengths = torch.randint(WORDS, (3, 5)), torch.tensor([5, 0, 2])
    found, _ = model(x, lengths)
    assert found[1].tolist() == [0] * 5
    assert found[2, 2:].tolist() == [0] * 3
    torch.testing.assert_close(found[2, :2], model(x[2:, :2], lengths[2:])[0][0])


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
            ValueError, match="encoder sees words to the right; expected one that is made with"
        ):
            CausalLanguageModel(WORDS, 8, encoder)
