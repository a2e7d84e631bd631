"""The mean of the losses of words: over all words of a batch, or over its sentences."""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from torch.nn import functional

Average = Literal["words", "sentences"]
"""Over what the mean of a loss is taken."""


def mean_loss(sums: Tensor, counts: Tensor, average: Average) -> Tensor:
    """Return a mean, a scalar; 0 where nothing was counted.

    Args:
        sums: ``(batch,)``, of each sentence the sum of the losses of its words.
        counts: ``(batch,)``, of how many words.
        average: The mean over ``words``, so that long sentences weigh more; or over ``sentences``, of the means
            over the words of each. Sentences of which no word counts are left out.

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
    """Return the mean negative log-likelihood of a class of each word, as `mean_loss` has it.

    Args:
        scores: ``(batch, n, classes)``.
        targets: ``(batch, n)``, with -1 where there is none.
        average: As for `mean_loss`.
    """
    return mean_loss(cross_entropies(scores, targets), (targets >= 0).sum(-1), average)


def cross_entropies(scores: Tensor, targets: Tensor) -> Tensor:
    """Return the negative log-likelihood of the classes of all words of each sentence, ``(batch,)``.

    Args:
        scores: ``(batch, n, classes)``.
        targets: ``(batch, n)``, with -1 where there is none.
    """
    losses = functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="none")
    return losses.view_as(targets).sum(-1)
