"""Eisner's recursion for projective dependency trees, over any semiring, in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.semiring import Semiring

Diagonals = list[Tensor]
"""Values of all spans of each width: entry w is ``(..., batch, n - w)``, indexed by the first word."""


def recursion(semiring: Semiring, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """The semiring's total over all projective trees.

    Args:
        semiring: What to compute.
        arcs: ``(..., batch, n, n + 1)``, ``[m, h]`` scores head h for word m + 1; h = 0 is the root.
        lengths: ``(batch,)``.
        single_root: Whether exactly one word hangs on the root.

    Time O(n^3) (Eisner 1996, 2000), n steps one after another. The root takes part in no span: its children
    divide the sentence into blocks, each a left half-tree and a right half-tree of one child.
    """
    n = arcs.shape[-2]
    index = torch.arange(n + 1, device=arcs.device)
    beyond = (index[:n, None] >= lengths[:, None, None]) | (index > lengths[:, None, None])
    arcs = arcs.masked_fill(beyond, 0.0)
    nothing = semiring.one(arcs[..., 0].sum(-1) * 0 if n == 0 else torch.zeros_like(arcs[..., 0, 0]))
    if n == 0:
        return nothing
    left, right = _half_trees(semiring, arcs[..., 1:])
    totals = semiring.stack(_attach_to_root(semiring, arcs[..., 0], left, right, nothing, single_root))
    return totals.gather(-1, lengths.expand(totals.shape[:-1]).unsqueeze(-1)).squeeze(-1)


def _half_trees(semiring: Semiring, arcs: Tensor) -> tuple[Diagonals, Diagonals]:
    """Half-trees headed by their last and by their first word, from ``arcs[m, h]`` between words."""
    n = arcs.shape[-1]
    single = semiring.one(torch.zeros_like(arcs[..., 0]))
    left, right = [single], [single]
    open_left: Diagonals = [single]
    open_right: Diagonals = [single]
    for width in range(1, n):
        joined = _combine(semiring, right, left, range(width), width - 1, n - width, shift=1)
        open_right.append(semiring.weigh(joined, arcs.diagonal(-width, -2, -1)))
        open_left.append(semiring.weigh(joined, arcs.diagonal(width, -2, -1)))
        right.append(_combine(semiring, open_right, right, range(1, width + 1), width, n - width))
        left.append(_combine(semiring, left, open_left, range(width), width, n - width))
    return left, right


def _combine(
    semiring: Semiring,
    first: Diagonals,
    second: Diagonals,
    splits: range,
    width: int,
    count: int,
    shift: int = 0,
) -> Tensor:
    """Sum over the widths of the first part; the second starts ``shift`` words after the first ends."""
    starts = [first[k][..., :count] for k in splits]
    ends = [second[width - k][..., k + shift : k + shift + count] for k in splits]
    return semiring.sum(semiring.times(semiring.stack(starts), semiring.stack(ends)), -1)


def _attach_to_root(
    semiring: Semiring, root: Tensor, left: Diagonals, right: Diagonals, nothing: Tensor, single_root: bool
) -> list[Tensor]:
    """For each length 0..n the total over the trees of that many words."""
    totals, attached = [nothing], []
    for last in range(root.shape[-1]):
        first_words = [0] if single_root else range(last + 1)
        before = semiring.stack([totals[k] for k in first_words])
        block = semiring.stack([left[last - k][..., k] for k in first_words])
        below = semiring.sum(semiring.times(before, block), -1)
        attached.append(semiring.weigh(below, root[..., last]))
        after = semiring.stack([right[last - child][..., child] for child in range(last + 1)])
        totals.append(semiring.sum(semiring.times(semiring.stack(attached), after), -1))
    return totals


REFERENCE = DynamicProgram(recursion, count=1)
