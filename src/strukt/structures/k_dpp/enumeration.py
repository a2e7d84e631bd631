"""Operators of k-DPPs that enumerate all subsets: best subsets, entropy, support."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF, Semiring
from strukt.structures.k_dpp.items import clean_kernel, rank, rank_tolerance
from strukt.structures.k_subset.reference import padded
from strukt.structures.k_subset.sorting import clean

MOST_ITEMS = 12
"""The largest number of items whose subsets are enumerated."""


def recursion(
    semiring: Semiring, scores: Tensor, omitted: Tensor, kernel: Tensor, lengths: Tensor, k: Tensor
) -> Tensor:
    """Return the semiring's total over all subsets of k items; time O(2^n n^3).

    Args:
        semiring: The semiring to compute in.
        scores: ``(..., batch, n)``, the log-weight of taking each item.
        omitted: ``(..., g, n)``, the log-weight of leaving each item out; g divides the batch.
        kernel: ``(..., g, n, n)``, likewise.
        lengths: ``(batch,)``.
        k: ``(batch,)``, the size of the subsets.
    """
    weights = log_weights(scores, omitted, kernel, lengths, k)
    return semiring.sum(semiring.weigh(semiring.one(weights), weights), -1)


def log_weights(scores: Tensor, omitted: Tensor, kernel: Tensor, lengths: Tensor, k: Tensor) -> Tensor:
    """Return the log-weight of each subset, ``(..., batch, 2^n)``; -inf if its size is not k or it uses padding.

    The arguments are those of `recursion`.

    Raises:
        NotImplementedError: If there are more than `MOST_ITEMS` items.
    """
    n = scores.shape[-1]
    if n > MOST_ITEMS:
        raise NotImplementedError(
            "the best subset under a determinant is NP-hard to find, and the entropy of a k-DPP has no closed "
            f"form: both need enumeration, for at most {MOST_ITEMS} items, but there are {n}; use "
            "greedy_mode for a good subset, and averages over sample((m,)), of -log_prob for the entropy"
        )
    sets = subsets(n, scores.device)
    beyond = torch.arange(n, device=lengths.device) >= lengths.unsqueeze(-1)
    within = (sets.sum(-1) == k.unsqueeze(-1)) & ~(sets & beyond.unsqueeze(-2)).any(-1)
    taken, left = (score.double().unsqueeze(-2) for score in clean(scores, omitted, lengths))
    additive = torch.where(sets, taken, left).sum(-1)
    volume = log_det(kernel, sets & within.unsqueeze(-1), lengths)
    return torch.where(within, additive + volume, NEG_INF).to(scores.dtype)


def log_det(kernel: Tensor, sets: Tensor, lengths: Tensor) -> Tensor:
    """Return the log-determinant of the kernel of each set, ``(..., batch, count)``; -inf for dependent items.

    Args:
        kernel: ``(..., g, n, n)``; g divides the batch.
        sets: Masks ``(..., batch, count, n)``.
        lengths: ``(batch,)``.
    """
    tolerance = rank_tolerance(kernel)
    cleaned = clean_kernel(kernel.double(), lengths).unsqueeze(-3)
    pairs = sets.unsqueeze(-1) & sets.unsqueeze(-2)
    identity = torch.eye(sets.shape[-1], dtype=torch.float64, device=sets.device)
    independent = rank(cleaned, sets, tolerance) == sets.sum(-1)
    chosen = torch.where(pairs & independent[..., None, None], cleaned, identity)
    # Cholesky, since derivatives of the forward mode of torch.linalg.slogdet are wrong.
    roots = torch.linalg.cholesky_ex(chosen).L.diagonal(dim1=-2, dim2=-1)
    return torch.where(independent, 2 * roots.log().sum(-1), NEG_INF)


def max_marginals(scores: Tensor, omitted: Tensor, kernel: Tensor, lengths: Tensor, k: Tensor) -> Tensor:
    """Return, for each item, the best score of a subset that contains it: ``(batch, n)``."""
    weights = log_weights(scores, omitted, kernel, lengths, k).unsqueeze(-1)
    return torch.where(subsets(scores.shape[-1], scores.device), weights, NEG_INF).amax(-2)


def most_expected(
    marginals: Tensor, scores: Tensor, omitted: Tensor, kernel: Tensor, lengths: Tensor, k: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the possible subset ``(batch, n)`` of largest sum of marginals, and its log-weight ``(batch,)``."""
    weights = log_weights(scores, omitted, kernel, lengths, k)
    sets = subsets(scores.shape[-1], scores.device)
    expected = torch.where(weights > NEG_INF, marginals @ sets.to(marginals.dtype).T, NEG_INF)
    best = expected.argmax(-1)
    return padded(sets[best].long(), lengths), weights.gather(-1, best.unsqueeze(-1)).squeeze(-1)


def subsets(n: int, device: torch.device) -> Tensor:
    """Return all subsets of n items as masks ``(2^n, n)``."""
    return (torch.arange(1 << n, device=device).unsqueeze(-1) >> torch.arange(n, device=device)) % 2 == 1
