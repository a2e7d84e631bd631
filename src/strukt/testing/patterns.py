"""Scores of edge cases: forbidden parts, one structure, no structure, ties, huge magnitudes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.testing.brute_force import Table
from strukt.testing.subject import Case


def fill(case: Case, masks: Sequence[Tensor], value: float) -> Case:
    """Return the case with a value filled in where the masks, one for each score tensor, are True."""
    return case.with_scores(
        [score.masked_fill(mask, value) for score, mask in zip(case.scores, masks, strict=True)]
    )


def one_row(table: Table) -> Table:
    """Return one structure with the fewest parts, always the same; its parts alone permit no other structure."""
    permitted = table.permitted
    counts = permitted.parts.flatten(1).sum(1)
    fewest = permitted.rows(counts == counts.min())
    return fewest.rows(torch.tensor([2 * len(fewest.events) // 3]))


def forbid_at_random(case: Case, share: float = 0.4) -> Case:
    """Set a share of all entries to -inf, such that every item keeps at least one structure."""
    generator = torch.Generator().manual_seed(1)
    drawn = [torch.rand(score.shape, generator=generator) < share for score in case.scores]
    return fill(case, [mask & ~kept for mask, kept in zip(drawn, case.used(one_row), strict=True)], -math.inf)


def leave_one(case: Case) -> Case:
    """Forbid every part that one chosen structure of each item does not use."""
    kept, *others = case.used(one_row)
    return fill(case, [~kept, *[torch.zeros_like(mask) for mask in others]], -math.inf)


def leave_none(case: Case, index: tuple[int, ...]) -> Case:
    """Forbid parts in one item until each of its structures uses a forbidden one; other items are unchanged."""
    mask = torch.zeros_like(case.scores[0], dtype=torch.bool)
    mask[index] = _hitting_set(case.item(index).table().permitted.parts > 0)
    return fill(
        case, [mask, *[torch.zeros_like(score, dtype=torch.bool) for score in case.scores[1:]]], -math.inf
    )


def _hitting_set(used: Tensor) -> Tensor:
    """Return a mask of parts of which every structure, a row of ``used``, uses at least one."""
    rows = used.flatten(1)
    hit = torch.zeros_like(rows[0])
    while len(rows):
        counts = rows.sum(1)
        smallest = rows[counts == counts.min()]
        part = smallest[len(smallest) // 2].nonzero()[-1]
        hit[part] = True
        rows = rows[~rows[:, part].any(1)]
    return hit.reshape(used.shape[1:])


def tied(case: Case) -> Case:
    """Round the scores, so that many structures tie."""
    return case.map(torch.round)


def zero(case: Case) -> Case:
    """Set all scores to 0, so that all structures are equally probable."""
    return case.map(torch.zeros_like)


def huge(case: Case) -> Case:
    """Replace the scores by -1e4, 0 and 1e4."""
    return case.map(lambda score: 1e4 * torch.round(score).clamp(-1, 1))


def steep(case: Case) -> Case:
    """Multiply the scores by 300: differences of hundreds of nats, whose probabilities underflow in float64."""
    return case.map(lambda score: 300 * score)


PATTERNS = (forbid_at_random, leave_one, tied, zero, steep, huge)
"""Functions of a case to an edge case in which every item has a permitted structure."""
