"""Mean of the losses of words: over all words of a batch, or over its sentences."""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from torch.nn import functional

Average = Literal["words", "sentences"]
"""Unit over which the mean of a loss is taken."""


def mean_loss(sums: Tensor, counts: Tensor, average: Average) -> Tensor:
    """Return the mean loss, a scalar; 0 if no word is counted.

    Args:
        sums: ``(batch,)``, the sum of the losses of the words of each sentence.
        counts: ``(batch,)``, the number of words that each sum is over.
        average: ``words``: mean over all counted words, so that long sentences weigh more; ``sentences``: mean of
            the sentences' means; sentences without counted words are left out.

    Examples:
        >>> import torch
        >>> sums, counts = torch.tensor([6.0, 2.0, 0.0]), torch.tensor([3, 1, 0])
        >>> mean_loss(sums, counts, "words"), mean_loss(sums, counts, "sentences")
        (tensor(2.), tensor(2.))
        >>> mean_loss(torch.tensor([3.0, 2.0]), torch.tensor([3, 1]), "sentences")
        tensor(1.5000)
    """
    if average == "words":
        return sums.sum() / counts.sum().clamp(min=1)
    return (sums / counts.clamp(min=1)).sum() / (counts > 0).sum().clamp(min=1)


def mean_cross_entropy(scores: Tensor, targets: Tensor, average: Average) -> Tensor:
    """Return the mean cross-entropy of the classes of words, averaged as in `mean_loss`.

    Args:
        scores: ``(batch, n, classes)``, the scores of each word's classes.
        targets: ``(batch, n)``, the classes; -1 for words without a class.
        average: Unit of the mean; see `mean_loss`.
    """
    return mean_loss(cross_entropies(scores, targets), (targets >= 0).sum(-1), average)


def cross_entropies(scores: Tensor, targets: Tensor) -> Tensor:
    """Return the sum of the cross-entropies of the words of each sentence, ``(batch,)``.

    Args:
        scores: ``(batch, n, classes)``, the scores of each word's classes.
        targets: ``(batch, n)``, the classes; -1 for words without a class.
    """
    losses = functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="none")
    return losses.view_as(targets).sum(-1)
