"""The decoder of the CRF autoencoder."""

import pytest
import torch

from strukt.nn import CRFAutoencoder


def test_every_head_has_a_distribution_over_words():
    torch.manual_seed(0)
    decoder = CRFAutoencoder(3, 4)
    words = torch.tensor([[2, 0, 2]])
    log_probs = decoder(words)
    assert log_probs.shape == (1, 3, 4)
    of_heads = decoder.score(decoder.heads(torch.tensor([3, 2, 0, 2]))).log_softmax(-1)
    torch.testing.assert_close(log_probs[0], of_heads[:, words[0]].T)


@pytest.mark.parametrize("batch", [0, 2])
def test_no_words_leave_the_root(batch):
    assert CRFAutoencoder(3, 4)(torch.zeros(batch, 0, dtype=torch.long)).shape == (batch, 0, 1)


@pytest.mark.parametrize("word", [-1, 3])
def test_words_are_in_the_vocabulary(word):
    with pytest.raises(ValueError, match=f"words holds {word} at batch item 0, position 1; expected indices"):
        CRFAutoencoder(3, 4)(torch.tensor([[0, word]]))
