"""Mappings from scores to relaxed subsets: entries from 0 to 1, with a given or bounded sum."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels import capped_simplex
from strukt.mappings.rows import of_rows, on_rows


def ksubset(x: Tensor, k: float | Tensor, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Return the point nearest to the scores, with entries from 0 to 1 that sum to k: a relaxed subset of k items.

    Args:
        x: Scores, of any shape; half precision is computed in float32.
        k: 0 or more, also fractional; a number, or a tensor that broadcasts to ``x`` with size 1 along ``dim``.
            Differentiable.
        dim: The axis of the items.
        mask: Boolean, broadcast to ``x``; scores where it is False are treated as -inf, so that their entries are
            0. None for no mask.

    Returns:
        Entries in the shape and type of ``x``, differentiable any number of times. If at most k scores are above
        -inf, their entries are 1, even if these sum to less than k. NaN in a row with NaN or +inf.

    Complexity: Typically O(d) for each row of d scores.

    Raises:
        ValueError: If ``x`` is not floating-point, the shape or type of another argument does not fit, or ``dim``
            or ``k`` is out of range.

    Examples:
        >>> import torch
        >>> ksubset(torch.tensor([2.0, 0.5, 0.3, -1.0]), 2)
        tensor([1.0000, 0.6000, 0.4000, 0.0000])
    """
    rows = of_rows("k", k, x, dim, 0.0, "0 or more")
    return on_rows(x, dim, mask, capped_simplex.subset, rows)


def budget(x: Tensor, k: float | Tensor, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Return the point nearest to the scores, with entries from 0 to 1 that sum to at most k: a relaxed subset.

    If the scores, clipped to [0, 1], sum to at most k, they are the result; otherwise it is that of `ksubset`.

    Args:
        x: Scores, of any shape; half precision is computed in float32.
        k: 0 or more, also fractional; a number, or a tensor that broadcasts to ``x`` with size 1 along ``dim``.
            Differentiable.
        dim: The axis of the items.
        mask: Boolean, broadcast to ``x``; scores where it is False are treated as -inf, so that their entries are
            0. None for no mask.

    Returns:
        Entries in the shape and type of ``x``, differentiable any number of times. NaN in a row with NaN, and
        in a row with +inf if its scores, clipped to [0, 1], sum to more than k.

    Complexity: Typically O(d) for each row of d scores.

    Raises:
        ValueError: If ``x`` is not floating-point, the shape or type of another argument does not fit, or ``dim``
            or ``k`` is out of range.

    Examples:
        >>> import torch
        >>> budget(torch.tensor([0.6, 0.5, 0.3, -1.0]), 2)
        tensor([0.6000, 0.5000, 0.3000, 0.0000])
        >>> budget(torch.tensor([0.6, 0.5, 0.3, -1.0]), 1)
        tensor([0.4667, 0.3667, 0.1667, 0.0000])
    """
    return on_rows(x, dim, mask, budget_of_rows, of_rows("k", k, x, dim, 0.0, "0 or more"))


def budget_of_rows(scores: Tensor, k: Tensor) -> Tensor:
    """Return `budget` of rows ``(rows, d)``, with a number of items for each, ``(rows,)``, that is not checked."""
    free = scores.clamp(0.0, 1.0)
    total = free.sum(-1, keepdim=True)
    # If the budget is used up, no entry of 0 or 1 moves with its score, even if the score is 0 or 1 itself.
    still = (total == k.unsqueeze(-1)) & ((scores <= 0.0) | (scores >= 1.0))
    free = torch.where(still, (scores >= 1.0).to(free.dtype), free)
    return torch.where(total <= k.unsqueeze(-1), free, capped_simplex.subset(scores, k))
