"""Reference of transducers (RNN-T) over any semiring, in PyTorch.

All nodes (t, u) of one anti-diagonal t + u = d are computed at once from the diagonal before, in n + m sequential
steps. A diagonal has one entry for each frame t; entries outside the lattice have weight zero.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.semiring import NEG_INF, Semiring

BLANK, LABEL = 0, 1
"""The moves: to the next frame, and to the next label."""


def recursion(semiring: Semiring, moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Return the semiring's total over all paths from the first node through the blank out of the last one.

    The result is ``(..., batch)``.

    Args:
        semiring: The semiring to compute in.
        moves: ``(..., batch, n, m + 1, 2)``, the score of each move out of each node.
        lengths: ``(batch,)``, in frames.
        target_lengths: ``(batch,)``, in labels.

    Time and memory O(n (n + m)), in n + m sequential steps (Graves 2012, equation 16).
    """
    skewed = _skewed(moves.masked_fill(~used(moves.shape[-3:-1], lengths, target_lengths), 0.0))
    start = moves.new_zeros(*moves.shape[:-3], 1)
    nothing = semiring.weigh(semiring.one(start), start + NEG_INF)
    ends = [semiring.one(start), nothing]
    if moves.shape[-3]:
        last_row = (lengths - 1).clamp(min=0)[:, None]
        node = _first_diagonal(semiring, moves)
        for d in range(skewed.shape[-2]):
            left = semiring.weigh(node, skewed[..., d, BLANK])
            ends.append(left.gather(-1, last_row.expand(*left.shape[:-1], 1)))
            said = semiring.weigh(node, skewed[..., d, LABEL])
            came = torch.cat([nothing, left[..., :-1]], -1)
            node = semiring.sum(semiring.stack([came, said]), -1)
    neither = torch.where(target_lengths == 0, 0, 1)
    end = torch.where(lengths > 0, lengths + target_lengths + 1, neither)
    totals = torch.cat(ends, -1)
    chosen = totals.gather(-1, end[:, None].expand(*totals.shape[:-1], 1))
    return semiring.sum(chosen, -1)  # a sum of one term, so that a total of weight zero has no gradient


def _first_diagonal(semiring: Semiring, moves: Tensor) -> Tensor:
    """Return the diagonal t + u = 0, ``(..., batch, n)``: the semiring's one for the first node, else its zero."""
    row = moves.new_zeros(moves.shape[:-2])
    return semiring.weigh(
        semiring.one(row), row.masked_fill(torch.arange(row.shape[-1], device=row.device) > 0, NEG_INF)
    )


def used(shape: torch.Size, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Return a mask of the moves that a path can use: ``batch + (n, m + 1, 2)``; no label after the last one.

    Examples:
        >>> used(torch.Size([2, 3]), torch.tensor(1), torch.tensor(1)).long().tolist()
        [[[1, 1], [1, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]]]
    """
    n, columns = shape
    row, column = (torch.arange(size, device=lengths.device) for size in (n, columns))
    frame = (row < lengths.unsqueeze(-1))[..., :, None, None]
    count = torch.stack([target_lengths + 1, target_lengths], -1)
    return frame & (column[:, None] < count[..., None, None, :])


def _skewed(moves: Tensor) -> Tensor:
    """Return scores by frame and diagonal, ``(..., batch, n, n + m, 2)``; -inf outside the lattice."""
    n, columns = moves.shape[-3:-1]
    rows = torch.arange(n, device=moves.device)[:, None]
    column = torch.arange(max(n + columns - 1, 0), device=moves.device) - rows
    outside = ((column < 0) | (column >= columns)).unsqueeze(-1).expand(-1, -1, 2)
    index = column.clamp(0, columns - 1).unsqueeze(-1).expand(*moves.shape[:-3], *outside.shape)
    return moves.gather(-2, index).masked_fill(outside, NEG_INF)


REFERENCE = DynamicProgram(recursion, count=1)
