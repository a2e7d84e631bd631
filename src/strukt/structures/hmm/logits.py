"""Functions of the logits of several distributions, in which -inf means impossible."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF


def softmax(logits: Tensor, dim: int) -> Tensor:
    """Return probabilities over ``dim``; 0 where every logit is -inf."""
    if reaches(logits, dim):  # without copies of a large matrix
        return torch.softmax(logits, dim)
    some = logits.detach().amax(dim, keepdim=True) > NEG_INF
    return torch.where(some, torch.softmax(torch.where(some, logits, 0.0), dim), 0.0)


def reaches(logits: Tensor, dim: int) -> bool:
    """Return True if every distribution over ``dim`` has a logit above -inf."""
    return bool((logits.detach().amax(dim) > NEG_INF).all())


def updated(logits: Tensor, counts: Tensor, dim: int) -> Tensor:
    """Return log-probabilities proportional to counts over ``dim``; the old logits where all counts are 0."""
    total = counts.sum(dim, keepdim=True)
    return torch.where(total > 0, (counts / torch.where(total > 0, total, 1.0)).log(), logits)


def free_numbers(logits: Tensor, dim: int) -> int:
    """Return the number of free probabilities: all but one of each distribution over ``dim``.

    Zero probabilities count, too, since a fit may have set them.
    """
    return logits.numel() - logits.numel() // logits.shape[dim]


def redrawn(logits: Tensor) -> Tensor:
    """Return random logits, whose softmax is uniformly distributed over the simplex; -inf stays."""
    return torch.empty_like(logits).exponential_().log().masked_fill(logits == NEG_INF, NEG_INF).detach()
