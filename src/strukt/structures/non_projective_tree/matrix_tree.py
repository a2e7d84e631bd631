"""The Matrix-Tree theorem in PyTorch: sums over non-projective trees by subtraction-free elimination in log space.

The Matrix-Tree theorem gives the sum over trees as a determinant (Koo et al. 2007; Tutte 1984), but an LU
decomposition subtracts nearly equal numbers if two words strongly prefer each other, and loses all digits at large
scores. Eliminating one word after another, as in a Markov chain, needs only sums, products and quotients of
weights (Grassmann, Taksar and Heyman 1985): each word's pivot is the total weight of its heads among the words
that remain, and each path through it becomes an arc. The product of the pivots is the sum over trees.

For a single root, the root's arcs carry a formal infinitesimal: beside its logarithm, every weight has an order,
the number of root arcs in it. Sums keep the terms of lowest order, and the sum over trees with one root arc is the
term of order one. Orders are exact integers, so that no penalty is ever added to a score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.gradients import pull_backs
from strukt.kernels.semiring import NEG_INF, finite, logsumexp

NOWHERE = 1 << 20
"""The order of a weight of zero, above all others."""

Load = Callable[..., tuple[Tensor, Tensor, Tensor]]
"""A function from ``arcs, lengths, *options`` to the log-weights of arcs, their orders, and the order of trees.

Log-weights, in float64, and orders are ``(batch, n, n + 1)``. The last result, ``(batch,)``, is the order of the
trees to sum over, which is the lowest that a tree can have.
"""


class Elimination:
    """The operators of trees, by elimination; their sums are over the trees of one order.

    ``load`` is called with ``arcs (batch, n, n + 1)``, whose first column is the root's, ``lengths (batch,)`` and
    ``*options``. These are also the arguments of the operators; `sample` takes a count, too, and
    `expected_surprise` two tuples of them.
    """

    def __init__(self, load: Load) -> None:
        self._load = load

    def log_partition(self, arcs: Tensor, lengths: Tensor, *options: Any) -> Tensor:
        """Return the log-partition ``(batch,)``, -inf without a tree; computed in float64, in n sequential steps.

        Time O(n^3) per item.
        """
        weights, orders, order_of_trees = self._load(arcs, lengths, *options)
        total, order = eliminate(weights, orders)
        return torch.where(order == order_of_trees, total, NEG_INF).to(arcs.dtype)

    def marginals(self, arcs: Tensor, lengths: Tensor, *options: Any) -> Tensor:
        """Return the probability of each arc, in the shape of ``arcs``; not differentiable."""
        weights = torch.ones(len(arcs), dtype=arcs.dtype, device=arcs.device)
        return pull_backs(self.log_partition, (arcs,), (lengths, *options), [weights])[0][0]

    def expected_surprise(self, arguments: tuple[Any, ...], others: tuple[Any, ...]) -> Tensor:
        """Return -E[log q] ``(batch,)`` in nats; E is under the scores of ``arguments``, q under ``others``.

        It is inf if q forbids a tree of positive probability, and 0 if there is no tree. It is computed in
        float64, from scores relative to the best head of each word.
        """
        (arcs, lengths, *options), (other_arcs, _, *other_options) = arguments, others
        mine, theirs = (relative(each.double(), lengths) for each in (arcs, other_arcs))
        log_partition, pull, *_ = torch.func.vjp(
            lambda leaf: self.log_partition(leaf, lengths, *options), mine
        )
        (marginals,) = pull(torch.ones_like(log_partition))
        unused = (marginals <= 0) & (theirs == NEG_INF)
        expected = (marginals * theirs.masked_fill(unused, 0.0)).sum((-2, -1))
        total = self.log_partition(theirs, lengths, *other_options)
        result = torch.where(expected == NEG_INF, torch.inf, total - expected)
        return torch.where(log_partition == NEG_INF, torch.zeros_like(result), result).to(arcs.dtype)

    def sample(self, arcs: Tensor, lengths: Tensor, *options_count: Any) -> tuple[Tensor, Tensor]:
        """Return the heads of samples, ``(batch, count, n)``, and the log-partition ``(batch,)``; no head is -1.

        The head of each word is drawn given those of the words before it. Samples are exact even for scores so
        large that Wilson's walk would practically never end. Time O(n^4) per sample. The number of samples is the
        last argument.
        """
        *options, count = options_count
        batch, n, _ = arcs.shape
        log_partition = self.log_partition(arcs, lengths, *options)
        remaining = arcs.detach().repeat_interleave(count, 0).clone()
        repeated, *more = (
            value.repeat_interleave(count, 0) if isinstance(value, Tensor) else value
            for value in (lengths, *options)
        )
        feasible = (log_partition > NEG_INF).repeat_interleave(count, 0)
        heads = torch.full((batch * count, n), -1, dtype=torch.int64, device=arcs.device)
        for m in range(n):
            marginals = self.marginals(remaining, repeated, *more)[:, m].clamp(min=0.0)
            drawn = feasible & (m < repeated)
            chosen = torch.where(drawn.unsqueeze(-1), marginals, torch.ones_like(marginals)).multinomial(1)
            heads[:, m] = torch.where(drawn, chosen.squeeze(-1), -1)
            kept = remaining[:, m].gather(-1, chosen)
            remaining[:, m] = torch.full_like(remaining[:, m], NEG_INF).scatter(-1, chosen, kept)
        return heads.reshape(batch, count, n), log_partition


def eliminate(weights: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log of the summed weights of the trees of lowest order, and that order: ``(batch,)`` each.

    Args:
        weights: ``(batch, n, n + 1)``, log-weights; row k is for the heads of word k + 1, column 0 for the root.
        orders: ``(batch, n, n + 1)``, their orders; `NOWHERE` for weights of zero. The order of a tree is the sum
            over its arcs.
    """
    total = weights.new_zeros(len(weights))
    total_order = orders.new_zeros(len(weights))
    taken_off = torch.zeros_like(total)
    for k in range(weights.shape[1] - 1, -1, -1):
        heaviest = _heaviest(weights, orders)
        weights, taken_off = weights - heaviest.unsqueeze(-1), taken_off + heaviest.sum(-1)
        out, out_order = weights[:, k, : k + 1], orders[:, k, : k + 1]
        pivot, pivot_order = _sum(out, out_order)
        total, total_order = total + pivot, total_order + pivot_order
        possible = pivot > NEG_INF
        share = out - torch.where(possible, pivot, torch.zeros_like(pivot)).unsqueeze(-1)
        share_order = out_order - torch.where(possible, pivot_order, torch.zeros_like(pivot_order)).unsqueeze(
            -1
        )
        through = weights[:, :k, k + 1, None] + share[:, None]
        through_order = orders[:, :k, k + 1, None] + share_order[:, None]
        weights, orders = _sum(
            torch.stack([weights[:, :k, : k + 1], through], -1),
            torch.stack([orders[:, :k, : k + 1], through_order], -1),
        )
    return total + taken_off, total_order


def padded_weights(arcs: Tensor, lengths: Tensor) -> Tensor:
    """Return log-weights ``(batch, n, n + 1)`` in float64; padding words depend on the root with score 0."""
    _, n, _ = arcs.shape
    index = torch.arange(n + 1, device=arcs.device)
    word = index[:n, None]
    beyond = word >= lengths[:, None, None]
    closed = (index > lengths[:, None, None]) | (index == word + 1) | (beyond & (index > 0))
    return arcs.double().masked_fill(closed, NEG_INF).masked_fill(beyond & (index == 0), 0.0)


def _sum(weights: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log of the summed terms of lowest order over the last axis, and that order."""
    lowest = orders.masked_fill(weights == NEG_INF, NOWHERE).amin(-1)
    kept = weights.masked_fill(orders != lowest.unsqueeze(-1), NEG_INF)
    return logsumexp(kept, -1), lowest


def _heaviest(weights: Tensor, orders: Tensor) -> Tensor:
    """Return, for each word, the largest log-weight of its heads of lowest order; 0 if it has no head; detached.

    The result is ``(batch, words)``. A tree has one head for each word, so this number can be subtracted from the
    log-weights of all heads of the word. That avoids rounding large scores.
    """
    weights = weights.detach()
    lowest = orders.masked_fill(weights == NEG_INF, NOWHERE).amin(-1, keepdim=True)
    result = weights.masked_fill(orders != lowest, NEG_INF).amax(-1)
    return finite(result)


def relative(arcs: Tensor, lengths: Tensor) -> Tensor:
    """Return the scores of each word's heads minus the best of them, a constant for gradients.

    This shifts the log-partition and the expected score equally. ``arcs`` and the result are
    ``(batch, n, n + 1)``; the result is -inf where there is no arc, as in the padding of ``lengths (batch,)``.
    """
    n = arcs.shape[1]
    index = torch.arange(n + 1, device=arcs.device)
    beyond = (index[:n, None] >= lengths[:, None, None]) | (index > lengths[:, None, None])
    clean = arcs.masked_fill(beyond, NEG_INF).masked_fill(index == index[:n, None] + 1, NEG_INF)
    if not n:
        return clean
    top = clean.detach().amax(-1, keepdim=True)
    return clean - finite(top)
