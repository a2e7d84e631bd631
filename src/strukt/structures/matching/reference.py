"""Sums over matchings in PyTorch, by a subtraction-free recursion over sets of rows.

The sum over matchings is a permanent, which is #P-complete (Valiant 1979). Ryser's formula adds and subtracts 2^n
terms and loses all digits at large scores. Here columns come one after another: each is skipped or matched with a
row that is not in the set of matched rows yet (Bellman 1962; Held and Karp 1962). All terms are positive. A set of
rows is stored only if the columns so far suffice for it, and the remaining columns for all other rows.

Padding rows are matched with score 0. Each matching of the other rows then occurs equally often: once for each way
to assign the remaining columns to these rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels import semiring
from strukt.kernels.autograd import Scores
from strukt.kernels.semiring import NEG_INF, Semiring
from strukt.structures.matching import assignment

MOST_ROWS = 16
"""The largest number of rows for sums."""

Levels = list[dict[int, Tensor]]
"""The totals of sets of matched rows: ``levels[columns][size]``, ``(..., batch, sets)``, is for all sets of that
size, after so many columns."""


class Sets(NamedTuple):
    """All sets of rows of one size.

    Attributes:
        masks: ``(sets,)``, their bit masks.
        rows: ``(sets, size)``, their rows.
        others: ``(sets, size)``, the index of the set without each of these rows, among the sets of one row less.
    """

    masks: Tensor
    rows: Tensor
    others: Tensor


class Matchings:
    """The reference oracles; arguments are ``scores (batch, n, m)`` and ``lengths``."""

    def log_partition(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """Return the log-partition ``(batch,)``, computed in float64; time O(m n 2^n), for n = m O(n 2^n)."""
        total = _total(_levels(semiring.Log(), _clean(scores, lengths)))
        return (total - _log_repetitions(scores, lengths)).to(scores.dtype)

    def entropy(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """Return the entropy ``(batch,)`` in nats."""
        return self._lowered(semiring.Entropy(), _clean(scores, lengths), scores, lengths)

    def cross_entropy(self, scores: Scores, other: Scores, lengths: Tensor) -> Tensor:
        """Return the cross-entropy ``(batch,)`` in nats: -E[log q], q the distribution of ``other``."""
        both = torch.stack([_clean(each, lengths) for (each,) in (scores, other)])
        return self._lowered(semiring.CrossEntropy(), both, scores[0], lengths)

    def best(self, scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the columns of a best matching ``(batch, n)`` and its score ``(batch,)``; time O(n^2 m)."""
        columns, best_scores = assignment.kbest(scores, lengths, 1)
        return columns[:, 0], best_scores[:, 0]

    def kbest(self, scores: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the k best matchings ``(batch, k, n)`` and scores ``(batch, k)``, best first; O(k n^2 m)."""
        return assignment.kbest(scores, lengths, k)

    def sample(self, scores: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Return the columns of samples, ``(batch, count, n)``, and the log-partition ``(batch,)``.

        Time O(n m) per sample after the sum.
        """
        clean = _clean(scores.detach(), lengths)
        levels = _levels(semiring.Log(), clean)
        batch, n, m = scores.shape
        masks = [sets.masks for sets in _sets(n, scores.device)]
        log_partition = _total(levels) - _log_repetitions(scores, lengths)
        columns = torch.full((batch, count, n), -1, device=scores.device)
        matched = torch.full((batch, count), (1 << n) - 1, device=scores.device)
        for column in range(m - 1, -1, -1):
            row = _draw_row(_by_mask(levels[column], masks), clean[..., column], matched)
            taken = row.unsqueeze(-1) == torch.arange(n, device=scores.device)
            columns = torch.where(taken, column, columns)
            matched = torch.where(row < n, matched - (1 << row), matched)
        within = torch.arange(n, device=scores.device) < lengths.unsqueeze(-1)
        feasible = within & (log_partition > NEG_INF).unsqueeze(-1)
        return torch.where(feasible.unsqueeze(1), columns, -1), log_partition.to(scores.dtype)

    def _lowered(self, ring: Semiring, clean: Tensor, scores: Tensor, lengths: Tensor) -> Tensor:
        """Return the entropy or cross-entropy of a ring, without the padding rows; 0 where there is no matching.

        ``clean`` are the ring's scores, in which padding rows take any columns; their entropy is subtracted.
        """
        total = _total(_levels(ring, clean))
        nats = ring.lower(total) - _log_repetitions(scores, lengths)
        return torch.where(total[0] == NEG_INF, torch.zeros_like(nats), nats).to(scores.dtype)


REFERENCE = Matchings()


def _clean(scores: Tensor, lengths: Tensor) -> Tensor:
    """Return scores in float64, 0 in the padding rows.

    Raises:
        NotImplementedError: If there are too many rows.
    """
    n = scores.shape[-2]
    if n > MOST_ROWS:
        raise NotImplementedError(
            f"sums over matchings are #P-complete: they take O(2^n) time, and n = {n} rows are above {MOST_ROWS}; "
            "use sparsemap() for marginals, mode, topk or max_marginals, which take any n, or estimate the sum by "
            "belief_propagation in a FactorGraph, with Xor for each row and AtMostOne for each column"
        )
    beyond = torch.arange(n, device=scores.device) >= lengths.unsqueeze(-1)
    return scores.double().masked_fill(beyond.unsqueeze(-1), 0.0)


def _levels(ring: Semiring, scores: Tensor) -> Levels:
    """Return the totals before the first column and after each column; ``scores`` are ``(..., batch, n, m)``."""
    n, m = scores.shape[-2:]
    sets = _sets(n, scores.device)
    levels = [{0: ring.one(scores.new_zeros(scores.shape[:-2])).unsqueeze(-1)}]
    for column in range(m):
        fewest, most = max(0, n - (m - column - 1)), min(column + 1, n)
        levels.append(
            {
                size: _with_column(ring, levels[-1], scores[..., column], sets[size])
                for size in range(fewest, most + 1)
            }
        )
    return levels


def _with_column(ring: Semiring, before: dict[int, Tensor], column: Tensor, sets: Sets) -> Tensor:
    """Return the totals of ``sets`` after one more column, which is skipped or matched with a row of the set.

    ``before`` are the totals by size before the column, and ``column (..., batch, n)`` the scores of its rows.
    """
    size = sets.rows.shape[-1]
    ways = []
    if size in before:
        ways.append(before[size].unsqueeze(-1))
    if size - 1 in before:
        ways.append(ring.weigh(before[size - 1][..., sets.others], column[..., sets.rows]))
    return ring.sum(torch.cat(ways, -1), -1)


def _total(levels: Levels) -> Tensor:
    """Return the total of the set of all rows."""
    ((_, total),) = levels[-1].items()
    return total.squeeze(-1)


def _sets(n: int, device: torch.device) -> list[Sets]:
    """Return, for each size, the sets of that many of n rows."""
    every = torch.arange(1 << n, device=device)
    inside = (every.unsqueeze(-1) >> torch.arange(n, device=device)) & 1
    by_size = inside.sum(-1).argsort(stable=True)
    place = torch.empty_like(every).scatter(0, by_size, every)
    result, first, smaller = [], 0, 0
    for size in range(n + 1):
        masks = by_size[first : first + math.comb(n, size)]
        rows = inside[masks].argsort(dim=-1, descending=True, stable=True)[:, :size]
        result.append(Sets(masks, rows, place[masks.unsqueeze(-1) ^ (1 << rows)] - smaller))
        first, smaller = first + len(masks), first
    return result


def _by_mask(level: dict[int, Tensor], masks: list[Tensor]) -> Tensor:
    """Return the totals of all sets of rows, ``(batch, 2^n)``, by bit mask; -inf for sets that are not stored.

    ``masks`` are those of the sets of each size.
    """
    like = next(iter(level.values()))
    totals = like.new_full((len(like), sum(map(len, masks))), NEG_INF)
    for size, values in level.items():
        totals[:, masks[size]] = values
    return totals


def _draw_row(before: Tensor, column: Tensor, matched: Tensor) -> Tensor:
    """Draw the row that takes a column in each sample, n for none: ``(batch, count)``.

    Args:
        before: ``(batch, 2^n)``, the totals of the sets of rows before the column.
        column: ``(batch, n)``, the scores of the column.
        matched: ``(batch, count)``, the bit mask of the rows that this column and those before it must fill.
    """
    n = column.shape[-1]
    bits = 1 << torch.arange(n, device=column.device)
    inside = (matched.unsqueeze(-1) & bits) > 0
    rest = torch.where(inside, matched.unsqueeze(-1) - bits, 0)
    ways = before.gather(-1, rest.flatten(1)).reshape(rest.shape) + column.unsqueeze(1)
    skipped = before.gather(-1, matched).unsqueeze(-1)
    options = torch.cat([ways.masked_fill(~inside, NEG_INF), skipped], -1)
    noise = -torch.empty_like(options).exponential_().log()
    return (options + noise).argmax(-1)


def _log_repetitions(scores: Tensor, lengths: Tensor) -> Tensor:
    """Return the log ``(batch,)`` of the number of ways to match the padding rows: (m - length)! / (m - n)!."""
    n, m = scores.shape[-2:]
    return torch.lgamma((m - lengths + 1).double()) - torch.lgamma(
        torch.tensor(m - n + 1.0, dtype=torch.float64, device=scores.device)
    )
