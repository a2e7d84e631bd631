"""Reference of monotone alignments over any semiring, in PyTorch.

All cells (i, j) of one anti-diagonal i + j = d are computed at once from the two diagonals before, in n + m - 1
sequential steps. A diagonal has one entry for each row i; entries outside the grid have weight zero.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.semiring import NEG_INF, Max, Semiring

MATCH, INSERT, DELETE = 0, 1, 2

STEPS = ((1, 1), (0, 1), (1, 0))
"""The rows and columns by which each move advances."""

MIRRORED = [MATCH, DELETE, INSERT]
"""The move that each move becomes when the two sequences are swapped."""


def recursion(
    semiring: Semiring, moves: Tensor, transition: Tensor, lengths: Tensor, target_lengths: Tensor
) -> Tensor:
    """Return the semiring's total over all paths from the first cell to the last, ``(..., batch)``.

    Args:
        semiring: The semiring to compute in.
        moves: ``(..., batch, n, m, 3)``, the score of each move into each cell.
        transition: ``(..., g, 3, 3)``, one move followed by another; g divides the batch, and consecutive items
            share a matrix.
        lengths: ``(batch,)``, rows.
        target_lengths: ``(batch,)``, columns.

    Time and memory O(n m), in n + m - 1 steps one after another (Gotoh 1982).
    """
    if moves.shape[-3] > moves.shape[-2]:
        moves, transition = _transposed(moves, transition)
        lengths, target_lengths = target_lengths, lengths
    moves, transition = _clean(moves, transition, lengths, target_lengths)
    ends = [_start(semiring, moves), _nothing(semiring, moves)]
    row = (lengths - 1).clamp(min=0)[:, None, None]
    for diagonal in _diagonals(semiring, _skewed(moves), transition):
        ends.append(diagonal.gather(-2, row.expand(*diagonal.shape[:-2], 1, 3)).squeeze(-2))
    # The last cell is on the diagonal n + m - 2. Two empty sequences have the empty path, a single one has none.
    both, neither = (lengths > 0) & (target_lengths > 0), (lengths == 0) & (target_lengths == 0)
    end = torch.where(both, lengths + target_lengths, torch.where(neither, 0, 1))
    stacked = semiring.stack(ends)
    chosen = stacked.gather(-1, end[:, None, None].expand(*stacked.shape[:-1], 1)).squeeze(-1)
    return semiring.sum(chosen, -1)


def max_marginals(moves: Tensor, transition: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Return, for each move into each cell, the best score of a path with it, ``(batch, n, m, 3)``.

    Time O(n (n + m)).
    """
    n, m = moves.shape[1:3]
    if not n or not m:
        return moves
    moves, transition = _clean(moves, transition, lengths, target_lengths)
    skewed = _skewed(moves)
    forward = _diagonals(Max(), skewed, transition)
    is_last_row = torch.arange(n, device=moves.device) == lengths[:, None] - 1
    outside = torch.full_like(moves[:, :, 0], NEG_INF)
    entered, result = [outside, outside], []
    for d in range(n + m - 2, -1, -1):
        following, after_next = entered[-1], entered[-2]
        onward = [_upwards(after_next)[..., MATCH], following[..., INSERT], _upwards(following)[..., DELETE]]
        beta = (transition + torch.stack(onward, -1).unsqueeze(-2)).amax(-1)
        is_last = is_last_row & (lengths + target_lengths - 2 == d)[:, None]
        beta = beta.masked_fill(is_last.unsqueeze(-1), 0.0)
        entered.append(skewed[:, :, d] + beta)
        result.append(forward[d] + beta)
    through = torch.stack(result[::-1], 2)
    rows, columns = torch.arange(n, device=moves.device)[:, None], torch.arange(m, device=moves.device)
    return through[:, rows, rows + columns]


def _transposed(moves: Tensor, transition: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scores after swapping the two sequences."""
    return moves.transpose(-2, -3)[..., MIRRORED], transition[..., MIRRORED, :][..., MIRRORED]


def _clean(
    moves: Tensor, transition: Tensor, lengths: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return scores with zeros in the padding, and transitions ``(..., batch, 1, 3, 3)``, one for each item."""
    n, m = moves.shape[-3:-1]
    rows = torch.arange(n, device=moves.device) >= lengths[:, None]
    columns = torch.arange(m, device=moves.device) >= target_lengths[:, None]
    beyond = rows[:, :, None] | columns[:, None, :]
    transition = transition.repeat_interleave(len(lengths) // max(transition.shape[-3], 1), -3)
    return moves.masked_fill(beyond.unsqueeze(-1), 0.0), transition.unsqueeze(-3)


def _skewed(moves: Tensor) -> Tensor:
    """Return scores by row and diagonal, ``(..., batch, n, n + m - 1, 3)``; ``[i, d]`` is cell (i, d - i).

    Scores outside the grid are -inf.
    """
    n, m = moves.shape[-3:-1]
    rows = torch.arange(n, device=moves.device)[:, None]
    columns = torch.arange(max(n + m - 1, 0), device=moves.device) - rows
    outside = ((columns < 0) | (columns >= m)).unsqueeze(-1).expand(-1, -1, 3)
    if not n or not m:
        return moves.new_zeros(*moves.shape[:-3], *outside.shape)
    index = columns.clamp(0, m - 1).unsqueeze(-1).expand(*moves.shape[:-3], *outside.shape)
    return moves.gather(-2, index).masked_fill(outside, NEG_INF)


def _start(semiring: Semiring, moves: Tensor) -> Tensor:
    """Return the semiring's one for a match and its zero for other moves, ``(..., batch, 3)``: the empty path."""
    score = moves.new_zeros(*moves.shape[:-3], 3)
    return semiring.weigh(
        semiring.one(score), score.masked_fill(torch.arange(3, device=moves.device) > 0, NEG_INF)
    )


def _nothing(semiring: Semiring, moves: Tensor) -> Tensor:
    """Return the semiring's zero for each move, ``(..., batch, 3)``."""
    missing = moves.new_full((*moves.shape[:-3], 3), NEG_INF)
    return semiring.weigh(semiring.one(missing), missing)


def _diagonals(semiring: Semiring, skewed: Tensor, transition: Tensor) -> list[Tensor]:
    """Return, for each diagonal, the total of all paths into each cell by each move, ``(..., batch, n, 3)``."""
    if not skewed.shape[-3]:
        return []
    nothing = _nothing(semiring, skewed).unsqueeze(-2)
    first = semiring.weigh(_start(semiring, skewed).unsqueeze(-2), skewed[..., 0, :])
    before, diagonals = nothing.expand_as(first), [first]
    for d in range(1, skewed.shape[-2]):
        last = diagonals[-1]
        sources = [_downwards(before, nothing), last, _downwards(last, nothing)]
        entered = semiring.sum(semiring.weigh(semiring.stack(sources), transition), -2)
        diagonals.append(semiring.weigh(entered, skewed[..., d, :]))
        before = last
    return diagonals


def _downwards(diagonal: Tensor, nothing: Tensor) -> Tensor:
    """Shift entries to the next row; the first row becomes ``nothing``."""
    return torch.cat([nothing, diagonal[..., :-1, :]], -2)


def _upwards(diagonal: Tensor) -> Tensor:
    """Shift entries ``(batch, n, ...)`` to the row before; the last row becomes -inf."""
    return torch.nn.functional.pad(diagonal[:, 1:], (0, 0, 0, 1), value=NEG_INF)


REFERENCE = DynamicProgram(recursion, count=2)
