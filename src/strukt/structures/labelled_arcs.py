"""Oracles of dependency trees with labelled arcs, built from the oracles of trees without labels.

Given the arcs of a tree, its labels are independent of each other. So the recursions over trees need no labels:
for sums, the score of an arc is the log of the summed weights of its labels, where a weight is the exponential of
a score; for the best tree, it is the score of its best label. With the latter scores, the arcs of each of the k
best trees are one of the k best trees without labels.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores, as_tuple
from strukt.kernels.choices import best_combinations, draw, expected_surprise, ranks
from strukt.kernels.oracles import Oracles
from strukt.kernels.semiring import NEG_INF, constant_at_infinity, log_softmax, logsumexp, precise


class LabelledOracles:
    """The oracles of `strukt.kernels.oracles.Oracles` for trees with labels.

    Args:
        trees: Oracles of trees without labels, with the option ``single_root``.

    The arguments of an oracle begin with ``arcs (batch, n, n + 1, c)``, ``lengths (batch,)`` and ``single_root``;
    `cross_entropy` has a tuple with one such tensor for each distribution in place of ``arcs``. Oracles take
    O(n^2 c) more time than for trees without labels, `kbest` more than that. Events are heads and labels,
    ``(batch, n, 2)``. All computations are in float64, except on Apple's GPUs, which lack it.
    """

    event_dim = 1

    def __init__(self, trees: Oracles) -> None:
        self._trees = trees
        self.reference = self

    def kernel(self, _oracle: str, *_arguments: Any) -> None:
        """Return None: trees with labels have no kernels of their own."""

    def has_gpu_kernel(self, oracle: str, arcs: Tensor, lengths: Tensor, single_root: bool) -> bool:
        """Return True if a GPU kernel computes this oracle for the same trees without labels."""
        return self._trees.has_gpu_kernel(oracle, arcs[..., 0], lengths, single_root)

    def log_partition(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        """Return the log-partition ``(batch,)``, twice differentiable."""
        return self._trees.log_partition(_summed(arcs, lengths), lengths, single_root).to(arcs.dtype)

    def inside(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
        """Return the log-partition ``(batch,)`` and the chart that `outside` needs; not differentiable."""
        log_partition, chart = self._trees.inside(_summed(arcs, lengths), lengths, single_root)
        return log_partition.to(arcs.dtype), chart

    def outside(
        self, arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor
    ) -> Tensor:
        """Return the marginals ``(batch, n, n + 1, c)`` times weights ``(batch,)``; not differentiable."""
        each = tree_arcs(arcs, lengths)
        summed = logsumexp(each, -1)
        (used,) = as_tuple(self._trees.outside(summed, lengths, single_root, weights.to(summed.dtype), chart))
        return _of_labels(used, each).to(arcs.dtype)

    def marginals(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> Scores:
        """Return, in a tuple, the probability of each label of each arc, shaped like ``arcs``; differentiable."""
        each = tree_arcs(arcs, lengths)
        (used,) = self._trees.marginals(logsumexp(each, -1), lengths, single_root)
        return (_of_labels(used, each).to(arcs.dtype),)

    def entropy(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        """Return the entropy ``(batch,)`` in nats: that of the arcs plus that of their labels."""
        return self._surprise(arcs, None, lengths, single_root)

    def cross_entropy(self, scores: Scores, other: Scores, lengths: Tensor, single_root: bool) -> Tensor:
        """Return the cross-entropy ``(batch,)`` in nats: -E[log q], where q is the distribution of ``other``."""
        return self._surprise(scores[0], other[0], lengths, single_root)

    def best(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, n, 2)`` and its score ``(batch,)``."""
        scores, labels = tree_arcs(arcs, lengths).max(-1)
        heads, total = self._trees.best(scores, lengths, single_root)
        return _event(heads, _at_heads(labels.unsqueeze(-1), heads).squeeze(-1)), total.to(arcs.dtype)

    def kbest(self, arcs: Tensor, lengths: Tensor, single_root: bool, k: int) -> tuple[Tensor, Tensor]:
        """Return the k best events ``(batch, k, n, 2)`` and their scores ``(batch, k)``, best first.

        -1 and -inf if there are fewer. Labels add O(n k^2 log k) time.
        """
        each = tree_arcs(arcs, lengths)
        scores, labels = each.topk(min(k, each.shape[-1]), -1)
        heads, best = self._trees.kbest(scores[..., 0], lengths, single_root, k)
        one_way = torch.where(torch.arange(scores.shape[-1], device=arcs.device) == 0, 0.0, NEG_INF)
        of_words = torch.where(heads.unsqueeze(-1) < 0, one_way, _at_heads(scores, heads))
        ways, steps = best_combinations(of_words, k)
        ways = ways.masked_fill(best.unsqueeze(-1) == NEG_INF, NEG_INF)
        totals, places = ways.flatten(1).topk(k, -1)
        rows = places // ways.shape[-1]
        heads = heads.gather(1, rows.unsqueeze(-1).expand(-1, -1, heads.shape[-1]))
        heads = heads.masked_fill((totals == NEG_INF).unsqueeze(-1), -1)
        chosen = ranks(steps, rows, places % ways.shape[-1]).unsqueeze(-1)
        return _event(heads, _at_heads(labels, heads).gather(-1, chosen).squeeze(-1)), totals.to(arcs.dtype)

    def sample(self, arcs: Tensor, lengths: Tensor, single_root: bool, count: int) -> tuple[Tensor, Tensor]:
        """Return exact samples ``(batch, count, n, 2)`` and the log-partition; arcs are drawn before labels."""
        each = tree_arcs(arcs, lengths)
        heads, log_partition = self._trees.sample(logsumexp(each, -1), lengths, single_root, count)
        n, m = each.shape[1:3]
        rows = torch.arange(n, device=arcs.device) * m + heads.clamp(min=0)
        cumulative = log_softmax(each.detach(), -1).exp().cumsum(-1).flatten(1, 2)
        labels = draw(cumulative, rows.flatten(1)) if n else rows.flatten(1)
        return _event(heads, labels.reshape(heads.shape)), log_partition.to(arcs.dtype)

    def _surprise(self, arcs: Tensor, other: Tensor | None, lengths: Tensor, single_root: bool) -> Tensor:
        """Return the cross-entropy ``(batch,)`` of the trees plus that of their labels given the trees.

        ``other``, in the shape of ``arcs``, has the scores of the other distribution; None for the entropy.
        """
        each = tree_arcs(arcs, lengths)
        summed = logsumexp(each, -1)
        if other is None:
            theirs, trees = each, self._trees.entropy(summed, lengths, single_root)
        else:
            theirs = tree_arcs(other, lengths)
            others = (logsumexp(theirs, -1),)
            trees = self._trees.cross_entropy((summed,), others, lengths, single_root)
        (used,) = self._trees.marginals(summed, lengths, single_root)
        labels = expected_surprise(used, log_softmax(each, -1), log_softmax(theirs, -1))
        return constant_at_infinity(trees + labels).to(arcs.dtype)


def tree_arcs(arcs: Tensor, lengths: Tensor) -> Tensor:
    """Return the scores in float64 (see `precise`), with -inf for padding and for words as their own heads.

    Args:
        arcs: ``batch + (n, n + 1, c)``.
        lengths: ``batch``.
    """
    n = arcs.shape[-3]
    index = torch.arange(n + 1, device=arcs.device)
    length = lengths[..., None, None]
    no_arc = (index[:n, None] >= length) | (index > length) | (index == index[:n, None] + 1)
    return precise(arcs).masked_fill(no_arc.unsqueeze(-1), NEG_INF)


def _summed(arcs: Tensor, lengths: Tensor) -> Tensor:
    """Return the log of the summed weights of all labels of each arc, ``(batch, n, n + 1)``, in float64."""
    return logsumexp(tree_arcs(arcs, lengths), -1)


def _of_labels(used: Tensor, each: Tensor) -> Tensor:
    """Return the probability of each label of each arc, ``(batch, n, n + 1, c)``.

    ``used (batch, n, n + 1)`` is the probability of each arc, ``each (batch, n, n + 1, c)`` the score of each
    label.
    """
    return used.unsqueeze(-1) * log_softmax(each, -1).exp()


def _at_heads(values: Tensor, heads: Tensor) -> Tensor:
    """Select from values ``(batch, n, n + 1, c)`` those at heads ``(batch, ..., n)``: ``(batch, ..., n, c)``."""
    _, n, m, c = values.shape
    rows = torch.arange(n, device=values.device) * m + heads.clamp(min=0)
    index = rows.flatten(1).unsqueeze(-1).expand(-1, -1, c)
    return values.flatten(1, 2).gather(1, index).reshape(*heads.shape, c)


def _event(heads: Tensor, labels: Tensor) -> Tensor:
    """Stack heads and labels ``(..., n)`` to events ``(..., n, 2)``; -1 for both where the head is -1."""
    return torch.stack([heads, torch.where(heads < 0, -1, labels)], -1)
