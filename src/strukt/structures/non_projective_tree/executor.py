"""The Matrix-Tree theorem in a few operations of PyTorch for each word, on devices without kernels.

The elimination is that of the reference (`matrix_tree`), and the derivatives with respect to weights (slopes) are
computed as in the kernels for GPUs, all as logs. The root has two columns of weights: one for arcs that carry the
infinitesimal of a single root, and one for those that do not. A pivot is the sum over the regular heads: the
second column and the words. If there are none, it is the weight in the first column.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF
from strukt.structures.non_projective_tree.matrix_tree import padded_weights

any_scores = True
"""True, since no score is too large."""

SMALL, ROOT, WORDS = 0, 1, 2
"""The columns of the root's arcs with and without the infinitesimal, and the first column of words as heads."""


def fits(arcs: Tensor, *_: Any) -> bool:
    """Return True if there are arcs; see `strukt.kernels.dispatch`."""
    return arcs.numel() > 0


def chart_shape(arcs: Tensor, *_: Any) -> tuple[int, int]:
    """Return the shape of the chart, ``(batch, n (n + 2))``."""
    return len(arcs), arcs.shape[1] * (arcs.shape[1] + 2)


@torch.no_grad()
def inside(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)``, and as chart the factors of the elimination."""
    factors, top = _load(arcs, lengths, single_root)
    for k in range(arcs.shape[1] - 1, -1, -1):
        heads, column = factors[:, k, : k + WORDS], factors[:, :, k + WORDS]
        regular = heads[:, ROOT:].logcumsumexp(-1)[:, -1]
        column[:, k] = torch.where(regular > NEG_INF, regular, heads[:, SMALL])
        if k > 0:
            shares = _shares(heads, column[:, k], regular > NEG_INF)
            rest = factors[:, :k, : k + WORDS]
            torch.logaddexp(rest, column[:, :k, None] + shares[:, None], out=rest)
    order = (~_are_regular(factors)).sum(-1)
    pivots = factors.diagonal(WORDS, 1, 2)
    possible = order == ((lengths > 0) & single_root)
    result = torch.where(possible, pivots.sum(-1) + top.sum(-1), NEG_INF)
    pivots[:, 0] = torch.where(result > NEG_INF, pivots[:, 0], NEG_INF)
    return result.to(arcs.dtype), factors.flatten(1)


@torch.no_grad()
def outside(arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor) -> Tensor:
    """Return the probability of each arc times the weight of its item, in the shape of ``arcs``."""
    n = arcs.shape[1]
    factors = chart.view(len(arcs), n, n + WORDS)
    uses = (_load(arcs, lengths, single_root)[0] + _slopes(factors)).exp_()
    possible = factors[:, 0, WORDS] > NEG_INF
    within = torch.arange(n, device=arcs.device) < torch.where(possible, lengths, 0)[:, None]
    uses = torch.where(within[..., None], uses, 0.0) * weights[:, None, None]
    return torch.cat([uses[..., :WORDS].sum(-1, keepdim=True), uses[..., WORDS:]], -1).to(arcs.dtype)


def _load(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return log-weights relative to those of each word's best regular head, and the latter.

    The former are ``(batch, n, 2 + n)``, the latter ``(batch, n)``, 0 if there is none.
    """
    weights = padded_weights(arcs, lengths)
    root, words = weights[..., :1], weights[..., 1:]
    small = (torch.arange(arcs.shape[1], device=arcs.device) < lengths[:, None])[..., None] & single_root
    columns = root.masked_fill(~small, NEG_INF), root.masked_fill(small, NEG_INF), words
    both = torch.cat(columns, -1)
    top = both[..., ROOT:].amax(-1).nan_to_num_(neginf=0.0)
    return both - top[..., None], top


def _are_regular(factors: Tensor) -> Tensor:
    """Return a mask ``(batch, n)`` of words with a regular head at their elimination."""
    heads = torch.arange(factors.shape[2], device=factors.device)
    among = (heads >= ROOT) & (heads < WORDS + heads[: factors.shape[1], None])
    return ((factors > NEG_INF) & among).any(-1)


def _shares(heads: Tensor, pivots: Tensor, regular: Tensor) -> Tensor:
    """Return the log-shares of ``heads (..., columns)`` in ``pivots (...)``.

    Where the mask ``regular (...)`` is False, a word has no regular head, and its two columns of the root are
    swapped.
    """
    shares = heads - pivots.nan_to_num(neginf=0.0)[..., None]
    of_root = shares[..., :WORDS]
    of_root.copy_(torch.where(regular[..., None], of_root, of_root.flip(-1)))
    return shares


def _slopes(factors: Tensor) -> Tensor:
    """Return logs of the derivatives of the log-total with respect to the weights, ``(batch, n, 2 + n)``."""
    slopes, pivots = torch.full_like(factors, NEG_INF), factors.diagonal(WORDS, 1, 2)
    regular = _are_regular(factors)
    shares, rest = _shares(factors, pivots, regular), pivots.new_ones(len(pivots))
    for k in range(factors.shape[1]):
        into, before = factors[:, :k, k + WORDS], slopes[:, :k, : k + WORDS]
        paths = slopes[:, k, : k + WORDS]
        if k > 0:
            column = (before + shares[:, k, None, : k + WORDS]).logcumsumexp(-1)[..., -1]
            slopes[:, :k, k + WORDS] = column
            rest = 1.0 - (into + column).exp_().sum(-1)
            paths = (before + into[..., None]).logcumsumexp(1)[:, -1]
        total = _log_plus(paths, rest[:, None])
        total[:, SMALL] = torch.where(regular[:, k], paths[:, SMALL], total[:, ROOT])
        torch.sub(total, pivots[:, k, None], out=slopes[:, k, : k + WORDS])
    return slopes


def _log_plus(logs: Tensor, rest: Tensor) -> Tensor:
    """Return log(exp(logs) + rest); ``rest`` may be negative, and sums below 0, by rounding, count as 0."""
    high = logs.clamp(min=0.0)
    return ((logs - high).exp_() + rest * high.neg().exp_()).clamp_(min=0.0).log_() + high
