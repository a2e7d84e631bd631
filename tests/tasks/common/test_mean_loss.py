"""Means of the losses of words: over words, or over sentences."""

import pytest
import torch

from strukt.tasks.common.mean_loss import mean_cross_entropy, mean_loss


@pytest.mark.parametrize("average", ["words", "sentences"])
def test_means_are_those_of_each_word_counted(average):
    torch.manual_seed(0)
    scores, targets = torch.randn(4, 5, 3), torch.randint(-1, 3, (4, 5))
    targets[2] = -1
    losses = [
        [-scores[row, place].log_softmax(0)[target].item() for place, target in enumerate(of_row) if target >= 0]
        for row, of_row in enumerate(targets.tolist())
    ]
    if average == "words":
        words = [loss for of_row in losses for loss in of_row]
        expected = sum(words) / len(words)
    else:
        means = [sum(of_row) / len(of_row) for of_row in losses if of_row]
        expected = sum(means) / len(means)
        assert len(means) == 3
    assert mean_cross_entropy(scores, targets, average).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("average", ["words", "sentences"])
def test_nothing_that_counts_has_no_loss(average):
    assert mean_loss(torch.zeros(2), torch.zeros(2, dtype=torch.long), average) == 0
