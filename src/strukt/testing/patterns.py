"""Scores at the edge: forbidden parts, a single structure left, none left, ties, huge magnitudes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.testing.brute_force import Table
from strukt.testing.subject import Case


def fill(case: Case, masks: Sequence[Tensor], value: float) -> Case:
    """The case with a value written wherever the masks, one for each score tensor, hold."""
    return case.with_scores(
        [score.masked_fill(mask, value) for score, mask in zip(case.scores, masks, strict=True)]
    )


def one_row(table: Table) -> Table:
    """Some row of those with the fewest parts, always the same one: no other row is left of its parts alone."""
    permitted = table.permitted
    counts = permitted.parts.flatten(1).sum(1)
    fewest = permitted.rows(counts == counts.min())
    return fewest.rows(torch.tensor([2 * len(fewest.events) // 3]))


def forbid_at_random(case: Case, share: float = 0.4) -> Case:
    """A share of all entries set to -inf, such that every item keeps at least one structure."""
    generator = torch.Generator().manual_seed(1)
    drawn = [torch.rand(score.shape, generator=generator) < share for score in case.scores]
    return fill(case, [mask & ~kept for mask, kept in zip(drawn, case.used(one_row), strict=True)], -math.inf)


def leave_one(case: Case) -> Case:
    """Every part forbidden that one chosen structure of the item does not use."""
    kept, *others = case.used(one_row)
    return fill(case, [~kept, *[torch.zeros_like(mask) for mask in others]], -math.inf)


def leave_none(case: Case, index: tuple[int, ...]) -> Case:
    """Parts forbidden in one item until each of its structures uses one of them; others stay permitted."""
    mask = torch.zeros_like(case.scores[0], dtype=torch.bool)
    mask[index] = _hitting_set(case.item(index).table().permitted.parts > 0)
    return fill(
        case, [mask, *[torch.zeros_like(score, dtype=torch.bool) for score in case.scores[1:]]], -math.inf
    )


def _hitting_set(used: Tensor) -> Tensor:
    """Parts of which every structure, a row of `used`, has at least one."""
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
    """Few distinct scores, so that many structures share the best one."""
    return case.map(torch.round)


def zero(case: Case) -> Case:
    """All scores 0: every structure equally likely."""
    return case.map(torch.zeros_like)


def huge(case: Case) -> Case:
    """Scores of -1e4, 0 and 1e4."""
    return case.map(lambda score: 1e4 * torch.round(score).clamp(-1, 1))


def steep(case: Case) -> Case:
    """Differences of hundreds of nats, too large for probabilities in double precision."""
    return case.map(lambda score: 300 * score)


PATTERNS = (forbid_at_random, leave_one, tied, zero, steep, huge)
