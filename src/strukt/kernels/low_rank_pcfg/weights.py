"""The scores of a grammar of low rank as weights: exponentials in double precision, of which the largest is 1."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.low_rank_pcfg.rules import same_groups

Tensors = tuple[Tensor, ...]


class Weights(NamedTuple):
    """The weights of g grammars, and logs that were taken out.

    Attributes:
        root: ``(g, s)``.
        head: ``(g, s, r)``.
        symbols: ``(g, 2 r, s + p)``, of each symbol as the left child of each rank, and below as its right child.
        root_top: ``(g,)``.
        rule_top: ``(g,)``, of a rule: of its head and both its children.
    """

    root: Tensor
    head: Tensor
    symbols: Tensor
    root_top: Tensor
    rule_top: Tensor

    @property
    def children(self) -> Tensor:
        """``(g, s, 2 r)``, of nonterminals."""
        return self.symbols[:, :, : self.root.shape[1]].mT

    @property
    def words(self) -> Tensor:
        """``(g, p, 2 r)``, of preterminals."""
        return self.symbols[:, :, self.root.shape[1] :].mT

    @property
    def factors(self) -> Tensor:
        """The most ``(g,)`` that an error in the sums of a span becomes in its values: their largest weight."""
        return torch.bmm(self.head.sum(2).unsqueeze(1), self.children).squeeze(1).amax(1)

    @property
    def joined(self) -> Tensor:
        """From the ranks of a span to the ranks above it as a left and as a right child: ``(g, r, 2 r)``."""
        return torch.bmm(self.head.mT, self.children)

    def as_gradients(self, gradients: Weights, scores: Tensors) -> Tensors:
        """Derivatives in the weights as those in root, left, right and head, summed over items that share them.

        Writes over the derivatives.
        """
        left, right = gradients.symbols.mul_(self.symbols).chunk(2, 1)
        found = (gradients.root.mul_(self.root), left, right, gradients.head.mul_(self.head))
        return tuple(
            _group_sums(value, len(score)).to(score.dtype, copy=True, memory_format=torch.contiguous_format)
            for value, score in zip(found, scores, strict=True)
        )

    def no_gradients(self) -> Weights:
        return Weights(*map(torch.zeros_like, self))


def _group_sums(values: Tensor, groups: int) -> Tensor:
    """Values ``(g, ...)`` summed over those that share a score."""
    return values if len(values) == groups else values.reshape(groups, -1, *values.shape[1:]).sum(1)


def weigh(root: Tensor, left: Tensor, right: Tensor, head: Tensor) -> Weights:
    """The weights of scores ``(g, ...)``; where there are fewer of one than of others, they are repeated."""
    most = max(map(len, (root, left, right, head)))
    root, left, right, head = (
        score.expand(most, *score.shape[1:]) for score in same_groups(0, root, left, right, head)
    )
    ranks, labels = left.shape[1:]
    symbols = torch.empty(most, 2 * ranks, labels, dtype=torch.float64)
    tops = _exponentials_into(left, symbols[:, :ranks]) + _exponentials_into(right, symbols[:, ranks:])
    heads = torch.empty(head.shape, dtype=torch.float64)
    tops += _exponentials_into(head, heads)
    roots, root_top = exponentials(root.double(), root.shape[1:])
    return Weights(roots, heads, symbols, root_top, tops)


def _exponentials_into(scores: Tensor, weights: Tensor) -> Tensor:
    """Write down the exponentials of scores ``(g, ...)`` less the largest of each group, which is returned."""
    top = scores.amax((1, 2)).double()
    top = torch.where(top == -torch.inf, torch.zeros_like(top), top)
    torch.sub(scores, top[:, None, None], out=weights).exp_()
    return top


def exponentials(scores: Tensor, shape: torch.Size) -> tuple[Tensor, Tensor]:
    """Exponentials of rows less their largest score, in a shape, and that score; 0 for rows that are all -inf."""
    top = scores.amax(1)
    top = torch.where(top == -torch.inf, torch.zeros_like(top), top)
    return (scores - top.unsqueeze(1)).exp_().reshape(-1, *shape), top


def grouped(rows: Tensor, matrices: Tensor, ends: list[int]) -> Tensor:
    """``rows @ matrix``, where the rows of each matrix end before ``ends``."""
    if len(matrices) == 1:
        return rows @ matrices[0]
    found = rows.new_empty(len(rows), matrices.shape[2])
    for matrix, first, last in zip(matrices, [0, *ends], ends, strict=False):
        torch.mm(rows[first:last], matrix, out=found[first:last])
    return found


def grouped_outer(rows: Tensor, others: Tensor, ends: list[int], total: Tensor) -> None:
    """Add ``rows' others`` of the rows of each matrix to ``total (g, a, b)``."""
    for matrix, first, last in zip(total, [0, *ends], ends, strict=False):
        matrix.addmm_(rows[first:last].mT, others[first:last])
