"""Brute-force enumeration of foldings of a chain of bases: RNA secondary structures without pseudoknots."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from strukt.structures.enumeration import Table


def folding(length: int, scores: Tensor) -> Table:
    """Return all sets of disjoint pairs of bases in which no two pairs cross; other bases are unpaired.

    Args:
        length: The number of bases in use.
        scores: ``(n (n + 1) / 2,)``: the score of leaving each of n bases unpaired, then, for each base j, the
            scores of its pairs with bases k < j.
    """
    bases = round(((8 * len(scores) + 1) ** 0.5 - 1) / 2)
    rows = []
    for pairs in _pairings(0, length):
        paired = {base for pair in pairs for base in pair}
        used = [base for base in range(length) if base not in paired]
        used += [bases + j * (j - 1) // 2 + k for k, j in pairs]
        row = torch.zeros(len(scores), dtype=torch.long)
        row[used] = 1
        rows.append(row)
    events = torch.stack(rows)
    return Table(events, events.double(), torch.where(events > 0, scores.double(), 0.0).sum(-1))


@cache
def _pairings(start: int, end: int) -> list[tuple[tuple[int, int], ...]]:
    """Return all sets of disjoint pairs, none of which cross, of the bases from ``start`` to ``end - 1``."""
    if end - start < 1:
        return [()]
    result = list(_pairings(start + 1, end))
    for partner in range(start + 1, end):
        inside, behind = _pairings(start + 1, partner), _pairings(partner + 1, end)
        result += [((start, partner), *one, *other) for one in inside for other in behind]
    return result
