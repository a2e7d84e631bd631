"""Reference of projective dependency trees: Eisner's algorithm over any semiring, in PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.semiring import Semiring

Attach = Callable[[Tensor, Tensor], Tensor]
"""A function that multiplies a value by an arc: see `total`."""

Diagonals = list[Tensor]
"""The values of all spans by width: entry w, ``(..., batch, n - w)``, is for w + 1 words, by their first word."""


def recursion(semiring: Semiring, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the semiring's total over all projective trees.

    Args:
        semiring: The semiring to compute in.
        arcs: ``(..., batch, n, n + 1)``, ``[m, h]`` scores head h for word m + 1; h = 0 is the root.
        lengths: ``(batch,)``.
        single_root: Whether exactly one word depends on the root.

    Time O(n^3) (Eisner 1996, 2000), n steps one after another. The root is in no span: its children divide the
    sentence into blocks, each a left half-tree and a right half-tree of one child.
    """
    if arcs.shape[-2] == 0:
        return semiring.one(arcs[..., 0].sum(-1) * 0)
    arcs = clean(arcs, lengths, 0)
    return total(semiring, semiring.weigh, arcs, semiring.one(arcs), lengths, single_root)


def clean(arcs: Tensor, lengths: Tensor, more: int) -> Tensor:
    """Return scores with 0 for arcs beyond the lengths; ``more`` is the number of axes after that of heads."""
    n = arcs.shape[-2 - more]
    index = torch.arange(n + 1, device=arcs.device)
    beyond = (index[:n, None] >= lengths[:, None, None]) | (index > lengths[:, None, None])
    return arcs.masked_fill(beyond.reshape(*beyond.shape, *(1,) * more), 0.0)


def total(
    semiring: Semiring, attach: Attach, arcs: Tensor, ones: Tensor, lengths: Tensor, single_root: bool
) -> Tensor:
    """Return the semiring's total over all projective trees; n must be at least 1.

    An item of length 0 has one tree, which is empty.

    Args:
        semiring: The semiring to compute in.
        attach: A function that multiplies a value by an arc: the semiring's ``weigh`` if ``arcs`` are scores, its
            ``times`` if they are values.
        arcs: ``(..., batch, n, n + 1)``, scores or values of arcs.
        ones: The semiring's one in the shape of the values of ``arcs``.
        lengths: ``(batch,)``.
        single_root: Whether exactly one word depends on the root.
    """
    left, right = _half_trees(semiring, attach, arcs[..., 1:], ones[..., 0])
    nothing = ones[..., 0, 0]
    totals = semiring.stack(
        _attach_to_root(semiring, attach, arcs[..., 0], left, right, nothing, single_root)
    )
    return totals.gather(-1, lengths.expand(totals.shape[:-1]).unsqueeze(-1)).squeeze(-1)


def _half_trees(
    semiring: Semiring, attach: Attach, arcs: Tensor, single: Tensor
) -> tuple[Diagonals, Diagonals]:
    """Return the totals of half-trees headed by their last word, and of those headed by their first word.

    ``arcs (..., batch, n, n)`` are the arcs between words, ``[m, h]`` from word h to word m, and
    ``single (..., batch, n)`` the total of each half-tree of one word.
    """
    n = arcs.shape[-1]
    left, right = [single], [single]
    open_left: Diagonals = [single]
    open_right: Diagonals = [single]
    for width in range(1, n):
        joined = _combine(semiring, right, left, range(width), width - 1, n - width, shift=1)
        open_right.append(attach(joined, arcs.diagonal(-width, -2, -1)))
        open_left.append(attach(joined, arcs.diagonal(width, -2, -1)))
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
    """Return the totals ``(..., batch, count)`` of spans that are joined from two parts, summed over the split.

    Args:
        semiring: The semiring to compute in.
        first: The values of first parts.
        second: The values of second parts.
        splits: The widths w of the first part; the second part has width ``width - w``.
        width: The width of both parts together.
        count: The number of spans; span k starts at word k.
        shift: The number of words from the last word of the first part to the first word of the second.
    """
    starts = [first[k][..., :count] for k in splits]
    ends = [second[width - k][..., k + shift : k + shift + count] for k in splits]
    return semiring.sum(semiring.times(semiring.stack(starts), semiring.stack(ends)), -1)


def _attach_to_root(
    semiring: Semiring, attach: Attach, root: Tensor, left: Diagonals, right: Diagonals, nothing: Tensor,
    single_root: bool,
) -> list[Tensor]:  # fmt: skip
    """Return a list of the totals ``(..., batch)`` over the trees of the first k words, for k = 0 to n.

    ``root (..., batch, n)`` are the root's arcs, ``left`` and ``right`` the results of `_half_trees`, and
    ``nothing`` is the total for k = 0.
    """
    totals, attached = [nothing], []
    for last in range(root.shape[-1]):
        first_words = [0] if single_root else range(last + 1)
        before = semiring.stack([totals[k] for k in first_words])
        block = semiring.stack([left[last - k][..., k] for k in first_words])
        below = semiring.sum(semiring.times(before, block), -1)
        attached.append(attach(below, root[..., last]))
        after = semiring.stack([right[last - child][..., child] for child in range(last + 1)])
        totals.append(semiring.sum(semiring.times(semiring.stack(attached), after), -1))
    return totals


REFERENCE = DynamicProgram(recursion, count=1)
