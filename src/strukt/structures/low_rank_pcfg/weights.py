"""The scores of a low-rank grammar as weights: exponentials, scaled to a maximum of 1.

Products with them are in single precision if the scores are and nothing can underflow, and in double precision,
which takes twice the time, otherwise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.gradients import group_sums
from strukt.kernels.semiring import finite
from strukt.structures.low_rank_pcfg import cpu_splits
from strukt.structures.low_rank_pcfg.rules import same_groups

Tensors = tuple[Tensor, ...]

SMALL = 1e-18
"""The least size of numbers whose product is a normal number in single precision."""

LARGE = 1e18
"""The largest size of derivatives that can be multiplied and summed in single precision."""


class Weights(NamedTuple):
    """Exponentiated scores of g grammars, and the log-scales divided out.

    The grammars have s nonterminals, p preterminals and r ranks.

    Attributes:
        root: ``(g, s)``, the weights of nonterminals as roots.
        head: ``(g, s, r)``, the weights of ranks under nonterminals.
        symbols: ``(g, 2 r, s + p)``, the weights of symbols as children of ranks. Rows 0 to r - 1: as left child;
            rows r to 2r - 1: as right child.
        root_top: ``(g,)``, the log-scale divided out of roots.
        rule_top: ``(g,)``, the log-scale divided out of a rule: of its head and both its children.
    """

    root: Tensor
    head: Tensor
    symbols: Tensor
    root_top: Tensor
    rule_top: Tensor

    @property
    def children(self) -> Tensor:
        """The weights of nonterminals as children, ``(g, s, 2 r)``."""
        return self.symbols[:, :, : self.root.shape[1]].mT

    @property
    def preterminals(self) -> Tensor:
        """The weights of preterminals as children, ``(g, p, 2 r)``."""
        return self.symbols[:, :, self.root.shape[1] :].mT

    @property
    def factors(self) -> Tensor:
        """A bound ``(g,)`` on the factor by which errors grow from a span's sums over splits to its values."""
        return torch.bmm(self.head.sum(2).unsqueeze(1), self.children).squeeze(1).amax(1).double()

    @property
    def joined(self) -> Tensor:
        """The weights from a span's ranks to the ranks above it, summed over its label: ``(g, r, 2 r)``.

        Columns 0 to r - 1 are for a left child, the others for a right child.
        """
        result = torch.bmm(self.head.mT, self.children)
        if result.dtype == torch.float64 or not _has_small(result):
            return result
        return torch.bmm(self.head.mT.double(), self.children.double())

    def double(self) -> Weights:
        """Return the weights in double precision."""
        return Weights(*(part.double() for part in self))

    def as_gradients(self, gradients: Weights, scores: Tensors) -> Tensors:
        """Return the gradients with respect to root, left, right and head scores, in the shapes of ``scores``.

        ``gradients`` are those with respect to the weights, which are overwritten. Those of grammars that share a
        score are summed.
        """
        left, right = gradients.symbols.mul_(self.symbols).chunk(2, 1)
        result = (gradients.root.mul_(self.root), left, right, gradients.head.mul_(self.head))
        return tuple(
            group_sums(value, len(score)).to(score.dtype, copy=True, memory_format=torch.contiguous_format)
            for value, score in zip(result, scores, strict=True)
        )

    def no_gradients(self) -> Weights:
        """Return zeros in the shapes of the weights, to which derivatives can be added."""
        return Weights(*map(torch.zeros_like, self))

    def add_gradients_of_ranks(self, into: Weights, joined: Tensor, tops: Tensor) -> None:
        """Add the derivatives with respect to head, children and root to ``into``.

        Args:
            into: The derivatives with respect to these weights.
            joined: ``(g, r, 2 r)``, those with respect to `joined`.
            tops: ``(g, r)``, those with respect to the weights of ranks under the root.
        """
        into.head.add_(self.children @ joined.mT)
        into.children.add_(self.head @ joined)
        into.head.add_(self.root.unsqueeze(2) * tops.unsqueeze(1))
        into.root.add_((self.head @ tops.unsqueeze(2)).squeeze(2))


def weigh(root: Tensor, left: Tensor, right: Tensor, head: Tensor) -> Weights:
    """Return the weights of scores ``(g, ...)``; scores with fewer groups than others are repeated."""
    most = max(map(len, (root, left, right, head)))
    root, left, right, head = (
        score.expand(most, *score.shape[1:]) for score in same_groups(0, root, left, right, head)
    )
    ranks, labels = left.shape[1:]
    rules = (left, right, head)
    tops = [_largest(score) for score in rules]
    narrow = all(_is_narrow(score, top) for score, top in zip(rules, tops, strict=True))
    kind = torch.float32 if narrow else torch.float64
    symbols = root.new_empty(most, 2 * ranks, labels, dtype=kind)
    heads = root.new_empty(head.shape, dtype=kind)
    places = (symbols[:, :ranks], symbols[:, ranks:], heads)
    for score, top, place in zip(rules, tops, places, strict=True):
        torch.sub(score, top[:, None, None], out=place).exp_()
    roots, root_top = exponentials(root.double())
    return Weights(roots.to(kind), heads, symbols, root_top, torch.stack(tops).double().sum(0))


def _largest(scores: Tensor) -> Tensor:
    """Return the largest score of each group ``(g,)``, 0 if all are -inf."""
    return finite(scores.amax((1, 2)))


def _is_narrow(scores: Tensor, tops: Tensor) -> bool:
    """Return True if single precision suffices for the weights of scores ``(g, ...)`` and products with them."""
    if scores.dtype == torch.float64 or not scores.numel():
        return False
    least = torch.where(scores == -torch.inf, torch.inf, scores).amin((1, 2))
    return bool((tops - least < -math.log(SMALL)).all())


def _has_small(weights: Tensor) -> bool:
    """Return True if positive weights are too small, relative to the largest, for single precision."""
    return bool(((weights > 0) & (weights < SMALL * weights.amax())).any())


def saves_work(rows: int, weights: Weights) -> bool:
    """Return True if one product by ranks is less work than two through nonterminals, for ``rows`` spans."""
    groups, s, rank = weights.head.shape
    return 2 * rank * (rows + groups * s) <= 3 * rows * s


def exponentials(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return exponentials of rows ``(..., k)`` minus their maxima, and the maxima; 0 for rows of only -inf."""
    top = finite(scores.amax(-1))
    return (scores - top.unsqueeze(-1)).exp_(), top


def times(rows: Tensor, matrix: Tensor) -> Tensor:
    """Return ``rows @ matrix``; rows and result are in double precision.

    The product is computed in single precision if the matrix is, unless entries of a row are too far apart.
    """
    if matrix.dtype == torch.float64:
        return rows @ matrix
    scaled, tops = torch.empty(rows.shape, dtype=matrix.dtype), rows.new_empty(len(rows))
    if not cpu_splits.narrow(rows.numpy(), SMALL, scaled.numpy(), tops.numpy()):
        return rows @ matrix.double()
    return (scaled @ matrix).double().mul_(tops.unsqueeze(1))


def grouped(rows: Tensor, matrices: Tensor, ends: list[int]) -> Tensor:
    """Return rows ``(m, a)`` times the matrices ``(g, a, b)`` of their grammars: ``(m, b)``.

    The rows of each grammar end before ``ends``.
    """
    if len(matrices) == 1:
        return times(rows, matrices[0])
    pieces = zip(matrices, [0, *ends], ends, strict=False)
    return torch.cat([times(rows[first:last], matrix) for matrix, first, last in pieces])


def grouped_outer(rows: Tensor, others: Tensor, ends: list[int], total: Tensor) -> None:
    """Add ``rows.T @ others`` of each grammar to ``total (g, a, b)``, for ``rows (m, a)`` and ``others (m, b)``.

    The rows of each grammar end before ``ends``.
    """
    for matrix, first, last in zip(total, [0, *ends], ends, strict=False):
        add_outer(rows[first:last], others[first:last], matrix)


def add_outer(rows: Tensor, others: Tensor, total: Tensor) -> None:
    """Add ``rows.T @ others`` to ``total (a, b)``, in its precision."""
    total.addmm_(rows.mT.to(total.dtype), others.to(total.dtype))
