"""Attention with a bias by distance, and its transpose, without any n x n tensor in memory.

Given rows A and B for words and a bias for each distance, where no word attends to itself,

    P = softmax(scale A B' + bias),   O1 = P B,   O2 = P' A.

A block of rows of A is multiplied by all of B, so that its rows of P are complete: they yield its rows of O1 and
its contribution to O2, and are discarded. The backward pass recomputes P block by block, after Dao et al. (2022),
"FlashAttention". For second derivatives and function transforms, the formula is written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import differentiable_gradients, is_batched, is_plain
from strukt.kernels.buckets import Buckets
from strukt.kernels.distance_tiles import NEVER, in_padding, is_everywhere, may_attend
from strukt.kernels.full_precision import full_precision

_BLOCK = 1 << 18
"""The number of pairs in a block: small enough for the cache of a core, large enough for fast matrix products."""


def by_distance(numbers: Tensor, n: int, buckets: Buckets) -> Tensor:
    """Look up a number for each distance i - j from n - 1 down to 1 - n, in each channel, by its bucket.

    Args:
        numbers: ``(f, h)``, the number for each bucket and channel, such as a bias.
        n: Number of positions, at least 1.
        buckets: The buckets of distances. If they have a place for all pairs, this must be the only place.

    Returns:
        ``(h, 2n - 1)``; the number at distance 0 is meaningless.

    Examples:
        >>> by_distance(torch.tensor([[1.0], [2.0], [3.0], [4.0]]), 3, Buckets(1, shared=False))
        tensor([[4., 3., 1., 2., 1.]])
    """
    distance = torch.arange(n - 1, -n, -1, device=numbers.device)
    if buckets.reach is None:
        return numbers[torch.zeros_like(distance)].mT
    place = distance.clamp(-buckets.reach - 1, buckets.reach + 1) + buckets.reach + (distance < 0).long()
    return numbers[place.masked_fill(distance == 0, 0)].mT


def pairs(bias: Tensor) -> Tensor:
    """Return the bias of each pair i, j, ``(..., n, n)``, from those of distances j - i, ``(..., 2n - 1)``."""
    return _reversed_pairs(bias, (bias.shape[-1] + 1) // 2).flip(-2)


def messages(
    left: Tensor,
    right: Tensor,
    bias: Tensor,
    inside: Tensor,
    *,
    scale: float = 1.0,
    causal: bool = False,
    transposed: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Return O1 = P B and O2 = P' A of A and B, differentiable any number of times.

    Args:
        left: A, ``(batch, n, h, r)``.
        right: B, in the same shape; finite in the padding, too.
        bias: ``(h, 2n - 1)``, the bias for each distance j - i from 1 - n to n - 1.
        inside: ``(batch, n)``, mask of words.
        scale: The factor of products.
        causal: Whether words attend only to words on their left.
        transposed: Whether to compute O2.

    Returns:
        O1 and O2, ``(batch, n, h, r)`` each. O1 is 0 for words that can attend to none; O2 is None if not
        ``transposed``. O(n^2 h r) time, and O(n h r) memory beside a block.

    Examples:
        >>> rows, inside = torch.eye(3)[None, :, None], torch.ones(1, 3, dtype=torch.bool)
        >>> first, second = messages(rows, rows, torch.zeros(1, 5), inside)
        >>> first[0, :, 0]
        tensor([[0.0000, 0.5000, 0.5000],
                [0.5000, 0.0000, 0.5000],
                [0.5000, 0.5000, 0.0000]])
    """
    batch, n, channels, _ = left.shape
    if not left.numel():
        return left, right if transposed else None
    attends = may_attend(inside, causal)[..., None, None]
    all_attend = is_everywhere(attends)
    if not all_attend:
        left = left.masked_fill(~attends, 0.0)
    distance = torch.arange(1 - n, n, device=bias.device)
    bias = bias.masked_fill(distance >= 0 if causal else distance == 0, NEVER).repeat(batch, 1)
    never = in_padding(inside.repeat_interleave(channels, 0), left)
    rows, columns = left.transpose(1, 2).flatten(0, 1).flip(1), right.transpose(1, 2).flatten(0, 1)
    options = (scale, causal, transposed)
    if is_plain():
        sums = _Messages.apply(rows, columns, bias, never, *options)  # type: ignore[no-untyped-call]
    else:
        sums = _dense(rows, columns, bias, never, *options)
    first = sums[0].flip(1).unflatten(0, (batch, channels)).transpose(1, 2)
    if not all_attend:
        first = first.masked_fill(~attends, 0.0)
    return first, sums[1].unflatten(0, (batch, channels)).transpose(1, 2) if transposed else None


class _Messages(torch.autograd.Function):
    """Autograd function of A (last word first) and B, ``(g, n, r)`` each, and biases ``(g, 2n - 1)`` to O1 and O2.

    With the words of A in reverse order, the biases of all pairs are a view of the biases by distance.
    """

    @staticmethod
    def forward(
        ctx: Any,
        left: Tensor,
        right: Tensor,
        bias: Tensor,
        never: Tensor | None,
        scale: float,
        causal: bool,
        transposed: bool,
    ) -> tuple[Tensor, ...]:
        ctx.save_for_backward(left, right, bias, never)
        ctx.options = (scale, causal, transposed)
        first = torch.empty_like(left)
        second = torch.zeros_like(right) if transposed else None
        for g, rows, columns in _blocks(left, causal):
            p = _probabilities(left, right, bias, never, scale, g, rows, columns)
            torch.matmul(p, right[g, columns], out=first[g, rows])
            if second is not None:
                second[g, columns].baddbmm_(p.mT, left[g, rows])
        return (first,) if second is None else (first, second)

    @staticmethod
    @full_precision
    def backward(ctx: Any, *grads: Tensor) -> Any:
        left, right, bias, never = ctx.saved_tensors
        scale, causal, transposed = ctx.options
        if torch.is_grad_enabled() or any(map(is_batched, grads)) or not is_plain():
            return (*_differentiable(ctx, grads), *(None,) * 4)
        first, *second = grads
        # d P = dO1 B' + A dO2', as one product.
        outer, inner = torch.cat([first, left], -1), torch.cat([right, *second], -1)
        outer = outer if transposed else first
        to_left, to_right, to_bias = torch.empty_like(left), torch.zeros_like(right), torch.zeros_like(bias)
        for g, rows, columns in _blocks(left, causal):
            p = _probabilities(left, right, bias, never, scale, g, rows, columns)
            of_p = outer[g, rows] @ inner[g, columns].mT
            of_p -= (p * of_p).sum(-1, keepdim=True)
            skewed, of_scores = _skewed(p)
            torch.mul(p, of_p, out=of_scores)
            into_left, into_right = to_left[g, rows], to_right[g, columns]
            torch.bmm(of_scores, right[g, columns], out=into_left).mul_(scale)
            if transposed:
                into_left.baddbmm_(p, second[0][g, columns])
            into_right.baddbmm_(p.mT, first[g, rows])
            into_right.baddbmm_(of_scores.mT, left[g, rows], alpha=scale)
            along = skewed.sum(1)
            to_bias[g, rows.start : rows.start + along.shape[1]] += along
        return to_left, to_right, to_bias, None, None, None, None


def _blocks(left: Tensor, causal: bool) -> Iterator[tuple[slice, slice, slice]]:
    """Yield slices of groups, of rows (the last word comes first), and of columns that these may attend to."""
    groups, n, _ = left.shape
    size = max(1, min(n, _BLOCK // n))
    several = max(1, _BLOCK // (size * n))
    for g in range(0, groups, several):
        for start in range(0, n, size):
            yield slice(g, g + several), slice(start, min(start + size, n)), slice(n - start if causal else n)


def _probabilities(
    left: Tensor,
    right: Tensor,
    bias: Tensor,
    never: Tensor | None,
    scale: float,
    g: slice,
    rows: slice,
    columns: slice,
) -> Tensor:
    """Return the attention probabilities P of some groups, rows and columns, ``(g, rows, columns)``.

    ``never (groups, 1, n)`` is added to scores, to exclude the padding; None without padding.
    """
    added = _reversed_pairs(bias, right.shape[1])[g, rows, columns]
    scores = torch.baddbmm(added, left[g, rows], right[g, columns].mT, alpha=scale)
    if never is not None:
        scores += never[g, :, columns]
    return scores.softmax(-1)


def _reversed_pairs(bias: Tensor, n: int) -> Tensor:
    """Return the biases of pairs ``(..., n, n)``, rows in reverse order; a view in plain eager mode."""
    if is_plain():
        return bias.unfold(-1, n, 1)
    place = torch.arange(n, device=bias.device)
    return bias[..., place.unsqueeze(1) + place]


def _skewed(block: Tensor) -> tuple[Tensor, Tensor]:
    """Return zeros with a column for each distance, and a view of them as a block, each row shifted by one.

    Row i of the view begins at column i of the zeros.
    """
    groups, rows, columns = block.shape
    width = columns + rows - 1
    skewed = block.new_zeros(groups, rows, width)
    return skewed, skewed.as_strided(block.shape, (rows * width, width + 1, 1))


def _dense(
    left: Tensor,
    right: Tensor,
    bias: Tensor,
    never: Tensor | None,
    scale: float,
    causal: bool,
    transposed: bool,
) -> tuple[Tensor, ...]:
    """Compute `_Messages` by differentiable operations on all pairs at once."""
    del causal  # included in the bias
    scores = scale * (left @ right.mT) + _reversed_pairs(bias, right.shape[1])
    p = (scores if never is None else scores + never).softmax(-1)
    return (p @ right, p.mT @ left) if transposed else (p @ right,)


def _differentiable(ctx: Any, grads: tuple[Tensor, ...]) -> tuple[Tensor | None, ...]:
    """Return the gradients of the tensors of `_Messages`, computed by differentiable operations."""
    tensors = ctx.saved_tensors
    with torch.enable_grad():
        values = _dense(*tensors, *ctx.options)
    return differentiable_gradients(values, tensors[:3], grads)
