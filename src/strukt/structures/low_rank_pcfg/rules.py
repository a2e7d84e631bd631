"""All rules of a low-rank grammar, for operators that ranks cannot compute.

The score of a tree sums over the ranks of each of its rules. A best tree maximises such sums, and an entropy
averages their logs. Neither is a sum over trees with ranks, so both need the rules.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from strukt.kernels.semiring import logsumexp, precise

LARGEST = 1 << 24
"""The largest number of rules of one grammar, s (s + p)^2, that are built: 128 MiB."""

CHUNK = 1 << 22
"""The number of entries of a table of rules with ranks that is summed at once."""


def composed(left: Tensor, right: Tensor, head: Tensor) -> Tensor:
    """Return rules ``(..., g, s, s + p, s + p)`` in float64: ``[A, B, C]``, the log of the sum over the ranks.

    Args:
        left: ``(..., g, r, s + p)``, the log-weight of each left child of each rank. The number of groups g may
            differ between the three tensors, if each divides the largest one.
        right: ``(..., g, r, s + p)``, the log-weight of each right child.
        head: ``(..., g, s, r)``, the log-weight of each rank under each nonterminal.

    Time O(s (s + p)^2 r) per group.

    Raises:
        NotImplementedError: If there are too many rules.
    """
    s, labels = head.shape[-2], left.shape[-1]
    if s * labels * labels > LARGEST:
        raise NotImplementedError(
            f"this needs all {s * labels * labels} rules of {s} nonterminals and {labels} symbols, more than "
            f"{LARGEST}; log_partition, marginals, condition, sample and mbr work with the ranks alone: decode "
            "with mbr, and estimate other results from samples"
        )
    left, right, head = same_groups(-3, *(precise(score) for score in (left, right, head)))
    size = max(CHUNK // max(labels * labels * left.shape[-2], 1), 1)
    if size >= s:
        return _rules(left, right, head)
    rows = (_frugally(left, right, some) for some in torch.split(head, size, -2))
    return torch.cat(list(rows), -3)


def same_groups(axis: int, *scores: Tensor) -> tuple[Tensor, ...]:
    """Repeat groups on an axis up to the largest number in any tensor; a single group is not repeated."""
    most = max(score.shape[axis] for score in scores)
    return tuple(
        score if score.shape[axis] in (1, most) else score.repeat_interleave(most // score.shape[axis], axis)
        for score in scores
    )


def _frugally(left: Tensor, right: Tensor, head: Tensor) -> Tensor:
    """Return a chunk of the rules; its backward pass recomputes the terms of the sums, to save memory."""
    if torch.is_grad_enabled():
        return checkpoint(_rules, left, right, head, use_reentrant=False)  # type: ignore[no-any-return]
    return _rules(left, right, head)


def _rules(left: Tensor, right: Tensor, head: Tensor) -> Tensor:
    """Return the rules of all or some nonterminals, with the arguments of `composed`; all terms are in memory."""
    children = left.mT.unsqueeze(-2) + right.mT.unsqueeze(-3)
    return logsumexp(head[..., None, None, :] + children.unsqueeze(-4), -1)
