"""Sums over non-projective trees by elimination without subtraction, in the log domain, in PyTorch.

The Matrix-Tree theorem gives the sum over trees as a determinant (Koo et al. 2007; Tutte 1984), but an LU
decomposition subtracts nearly equal numbers where two words strongly want each other, and loses every digit
at large scores. Eliminating one word after another as in a Markov chain needs sums, products and quotients
of weights only (Grassmann, Taksar and Heyman 1985): each word's pivot is the total weight of its heads among
the words that remain, and each path through it becomes an arc. The product of the pivots is the sum over trees.

For a single root the root's arcs carry a formal infinitesimal: every weight has an order, the number of
root arcs in it, beside its logarithm, sums keep the terms of lowest order, and the sum over trees with one
root arc is the term of order one. Orders are exact integers, so that no penalty is ever added to a score.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores, pull_backs
from strukt.kernels.matrix_tree import arborescence
from strukt.kernels.semiring import NEG_INF, logsumexp

NOWHERE = 1 << 20
"""The order of a weight of zero."""


class MatrixTree:
    """The reference oracles of non-projective trees; arguments are ``arcs, lengths, single_root``."""

    def log_partition(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        """``(batch,)``; time O(n^3), n steps one after another, computed in float64."""
        weights, orders = _load(arcs, lengths, single_root)
        total = weights.new_zeros(len(arcs))
        total_order = orders.new_zeros(len(arcs))
        for k in range(arcs.shape[1] - 1, -1, -1):
            out, out_order = weights[:, k, : k + 1], orders[:, k, : k + 1]
            pivot, pivot_order = _sum(out, out_order)
            total, total_order = total + pivot, total_order + pivot_order
            possible = pivot > NEG_INF
            share = out - torch.where(possible, pivot, torch.zeros_like(pivot)).unsqueeze(-1)
            share_order = out_order - torch.where(
                possible, pivot_order, torch.zeros_like(pivot_order)
            ).unsqueeze(-1)
            through = weights[:, :k, k + 1, None] + share[:, None]
            through_order = orders[:, :k, k + 1, None] + share_order[:, None]
            weights, orders = _sum(
                torch.stack([weights[:, :k, : k + 1], through], -1),
                torch.stack([orders[:, :k, : k + 1], through_order], -1),
            )
        allowed = (lengths > 0).long() if single_root else torch.zeros_like(lengths)
        return torch.where(total_order == allowed, total, NEG_INF).to(arcs.dtype)

    def entropy(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        """``(batch,)`` in nats: the log-partition less the expected score."""
        return self.cross_entropy((arcs,), (arcs,), lengths, single_root)

    def cross_entropy(self, scores: Scores, other: Scores, *lengths_options: Any) -> Tensor:
        """``(batch,)`` in nats, in float64 on scores relative to the best head of each word."""
        (mine,), (theirs,) = scores, other
        lengths, _ = lengths_options
        mine, theirs = (_relative(arcs.double(), lengths) for arcs in (mine, theirs))
        log_partition, pull, *_ = torch.func.vjp(
            lambda arcs: self.log_partition(arcs, *lengths_options), mine
        )
        (marginals,) = pull(torch.ones_like(log_partition))
        unused = (marginals <= 0) & (theirs == NEG_INF)
        expected = (marginals * theirs.masked_fill(unused, 0.0)).sum((-2, -1))
        total = self.log_partition(theirs, *lengths_options)
        found = torch.where(expected == NEG_INF, torch.inf, total - expected)
        return torch.where(log_partition == NEG_INF, torch.zeros_like(found), found).to(scores[0].dtype)

    def best(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
        """Heads of the best tree ``(batch, n)`` and its score ``(batch,)``; time O(n^2)."""
        return arborescence.best(arcs, lengths, single_root)

    def kbest(self, arcs: Tensor, lengths: Tensor, single_root: bool, k: int) -> tuple[Tensor, Tensor]:
        """Heads of the k best trees ``(batch, k, n)`` and their scores ``(batch, k)``; time O(k n^3)."""
        return arborescence.kbest(arcs, lengths, single_root, k)

    def sample(self, arcs: Tensor, lengths: Tensor, single_root: bool, count: int) -> tuple[Tensor, Tensor]:
        """Heads ``(batch, count, n)``, one word after another given those before; time O(n^4) each.

        Exact at any scale of the scores, where Wilson's walk may not end in a lifetime.
        """
        batch, n, _ = arcs.shape
        log_partition = self.log_partition(arcs, lengths, single_root)
        remaining = arcs.detach().repeat_interleave(count, 0).clone()
        repeated = lengths.repeat_interleave(count, 0)
        feasible = (log_partition > NEG_INF).repeat_interleave(count, 0)
        heads = torch.full((batch * count, n), -1, dtype=torch.int64, device=arcs.device)
        for m in range(n):
            marginals = self.marginals(remaining, repeated, single_root)[:, m].clamp(min=0.0)
            drawn = feasible & (m < repeated)
            chosen = torch.where(drawn.unsqueeze(-1), marginals, torch.ones_like(marginals)).multinomial(1)
            heads[:, m] = torch.where(drawn, chosen.squeeze(-1), -1)
            kept = remaining[:, m].gather(-1, chosen)
            remaining[:, m] = torch.full_like(remaining[:, m], NEG_INF).scatter(-1, chosen, kept)
        return heads.reshape(batch, count, n), log_partition

    def marginals(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        """The probability of each arc, without derivatives."""
        weights = torch.ones(len(arcs), dtype=arcs.dtype, device=arcs.device)
        return pull_backs(self.log_partition, (arcs,), (lengths, single_root), [weights])[0][0]


REFERENCE = MatrixTree()


def _load(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Log-weights in float64 and their orders; words beyond the length hang on the root for free."""
    _, n, _ = arcs.shape
    index = torch.arange(n + 1, device=arcs.device)
    word = index[:n, None]
    beyond = word >= lengths[:, None, None]
    closed = (index > lengths[:, None, None]) | (index == word + 1) | (beyond & (index > 0))
    weights = arcs.double().masked_fill(closed, NEG_INF).masked_fill(beyond & (index == 0), 0.0)
    rooted = (index == 0) & ~beyond
    orders = (rooted & single_root).long()
    return weights, torch.where(weights == NEG_INF, NOWHERE, orders)


def _sum(weights: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """The terms of lowest order over the last axis: their log-sum and the order."""
    lowest = orders.masked_fill(weights == NEG_INF, NOWHERE).amin(-1)
    kept = weights.masked_fill(orders != lowest.unsqueeze(-1), NEG_INF)
    return logsumexp(kept, -1), lowest


def _relative(arcs: Tensor, lengths: Tensor) -> Tensor:
    """Scores less the best of each word, which moves log-partition and expected score by the same amount."""
    n = arcs.shape[1]
    index = torch.arange(n + 1, device=arcs.device)
    beyond = (index[:n, None] >= lengths[:, None, None]) | (index > lengths[:, None, None])
    clean = arcs.masked_fill(beyond, NEG_INF).masked_fill(index == index[:n, None] + 1, NEG_INF)
    if not n:
        return clean
    top = clean.detach().amax(-1, keepdim=True)
    return clean - torch.where(top == NEG_INF, torch.zeros_like(top), top)
