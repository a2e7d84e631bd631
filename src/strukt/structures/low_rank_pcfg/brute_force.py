"""Brute-force enumeration of trees of low-rank grammars."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.structures.enumeration import Table
from strukt.structures.pcfg.brute_force import pcfg


def low_rank_pcfg(
    length: int, spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor
) -> Table:
    """Return all trees of a sentence under a grammar whose rules are sums over ranks.

    Args:
        length: The number of words in use.
        spans: ``(n + 1, n + 1, s + p)``, additional scores of labelled spans.
        root: ``(s,)``, the score of each nonterminal as the root.
        left: ``(r, s + p)``; ``[R, B]`` scores B as the left child of a rank.
        right: ``(r, s + p)``; ``[R, C]`` scores C as its right child.
        head: ``(s, r)``; ``[A, R]`` scores a rank under a nonterminal.
        emission: ``(n, p)``, the score of each preterminal for each word.
    """
    children = left.T[:, None].double() + right.T[None].double()
    terms = head[:, None, None].double() + children
    some = (terms > -torch.inf).any(-1)
    # A sum of no terms has no derivative, which logsumexp does not know.
    result = torch.where(some[..., None], terms, 0).logsumexp(-1)
    return pcfg(length, spans, root, torch.where(some, result, -torch.inf), emission)
