"""Fenceposts between words, and scores of spans."""

import pytest
import torch

from strukt.nn.spans import SpanScorer, between_words, fenceposts


@pytest.mark.parametrize("size", [6, 7])
def test_a_fencepost_knows_the_words_on_both_sides(size):
    words = torch.randn(2, 4, size)
    posts = fenceposts(words)
    half = (size + 1) // 2
    assert posts.shape == (2, 5, size)
    assert torch.equal(posts[:, 1:, :half], words[..., :half])
    assert torch.equal(posts[:, :-1, half:], words[..., half:])
    assert posts[:, 0, :half].abs().sum() == posts[:, -1, half:].abs().sum() == 0


def test_fenceposts_of_a_padded_sentence_are_its_own():
    words = torch.randn(1, 3, 4)
    padded = torch.nn.functional.pad(words, (0, 0, 0, 2))
    assert torch.equal(fenceposts(padded)[:, :4], fenceposts(words))


def test_no_words_have_one_fencepost():
    assert torch.equal(fenceposts(torch.zeros(0, 4)), torch.zeros(1, 4))


def test_a_score_is_that_of_the_span_and_of_its_label():
    torch.manual_seed(0)
    scorer = SpanScorer(6, labels=3, span_size=5, label_size=4)
    for parameter in scorer.parameters():
        torch.nn.init.normal_(parameter)
    posts = torch.randn(2, 4, 6)
    scores = scorer(posts)
    assert scores.shape == (2, 4, 4, 3)
    left, right = posts[1, 0], posts[1, 2]
    span = scorer.span_score(scorer.span_left(left)[None], scorer.span_right(right)[None])
    label = scorer.label_score(scorer.label_left(left)[None], scorer.label_right(right)[None])
    torch.testing.assert_close(scores[1, 0, 2], (span + label)[0, 0], rtol=1e-4, atol=1e-4)
    assert not torch.allclose(scores[1, 0, 2], scores[1, 2, 0]), "left and right differ"


def test_dropout_acts_in_training_only():
    scorer, posts = SpanScorer(6, labels=3, dropout=0.5), torch.randn(4, 6)
    for parameter in scorer.parameters():
        torch.nn.init.normal_(parameter)
    assert not torch.equal(scorer(posts), scorer(posts))
    scorer.eval()
    assert torch.equal(scorer(posts), scorer(posts))


def test_dropout_takes_features_of_a_sentence_without_batch_axes():
    torch.manual_seed(0)
    scorer = SpanScorer(6, labels=3, dropout=0.5)
    hidden = scorer.span_left(torch.randn(5, 6))
    assert 0 < (hidden == 0).all(0).sum() < hidden.shape[1]
    assert not (hidden == 0).all(1).any()


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"posts has shape \(4, 5\); expected \(\*batch, n \+ 1, 6\)"):
        SpanScorer(6, labels=3)(torch.zeros(4, 5))
    with pytest.raises(ValueError, match=r"words has shape \(4,\); expected"):
        fenceposts(torch.zeros(4))
    for shape in [(2, 3, 1), (2, 2)]:
        with pytest.raises(ValueError, match=r"scores has shape .*; expected \(\*batch, n, n, c\)"):
            between_words(torch.zeros(shape))
