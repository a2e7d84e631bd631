"""Biaffine scores against the formula."""

import torch

from strukt.nn import Biaffine


def random_biaffine(left, right, outputs):
    torch.manual_seed(0)
    biaffine = Biaffine(left, right, outputs)
    torch.nn.init.normal_(biaffine.weight)
    return biaffine


def test_every_pair_has_the_score_of_the_formula():
    biaffine = random_biaffine(3, 4, 2)
    x, y = torch.randn(2, 5, 3), torch.randn(2, 6, 4)
    scores = biaffine(x, y)
    assert scores.shape == (2, 5, 6, 2)
    one = torch.ones(1)
    for item, i, j, k in [(0, 0, 0, 0), (1, 4, 5, 1), (0, 2, 3, 1)]:
        expected = torch.cat([x[item, i], one]) @ biaffine.weight[k] @ torch.cat([y[item, j], one])
        torch.testing.assert_close(scores[item, i, j, k], expected)


def test_aligned_scores_are_the_diagonal():
    biaffine = random_biaffine(3, 4, 5)
    x, y = torch.randn(2, 6, 3), torch.randn(2, 6, 4)
    diagonal = biaffine(x, y).diagonal(dim1=1, dim2=2).transpose(1, 2)
    torch.testing.assert_close(biaffine.aligned(x, y), diagonal)


def test_no_pair_is_preferred_at_the_start():
    assert Biaffine(3, 3, 1)(torch.randn(1, 4, 3), torch.randn(1, 4, 3)).abs().max() == 0


def test_empty_sentences_have_no_scores():
    assert Biaffine(3, 3, 2)(torch.zeros(2, 0, 3), torch.zeros(2, 1, 3)).shape == (2, 0, 1, 2)
