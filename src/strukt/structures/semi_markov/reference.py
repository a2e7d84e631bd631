"""Reference of semi-Markov chains: the forward algorithm over any semiring, in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram, used_alternatives
from strukt.kernels.semiring import NEG_INF, Max, Semiring


def recursion(semiring: Semiring, segments: Tensor, transition: Tensor, lengths: Tensor) -> Tensor:
    """Return the semiring's total over all segmentations, ``(..., batch)``.

    Args:
        semiring: The semiring to compute in.
        segments: ``(..., batch, n, k, c)``; ``[t, d, j]`` scores a segment of d + 1 positions from t on, with
            label j.
        transition: ``(..., g, c, c)``, or ``(..., g, n - 1, c, c)``, where ``[t]`` is for the boundary between the
            positions t and t + 1; ``(1, 1)`` in place of ``(c, c)`` is one score for all pairs of labels. g
            divides the batch, and consecutive items share their matrices.
        lengths: ``(batch,)``.

    Durations are summed before transitions: time O(n k c + n c^2), or O(n k c) if all pairs score alike; n steps
    one after another (Sarawagi and Cohen 2004).
    """
    empty = semiring.one(segments.new_zeros(segments.shape[:-3]))
    if segments.shape[-3] == 0:
        return empty
    segments = segments.masked_fill(_beyond(segments, lengths), 0.0)
    _, ended = _forward(semiring, segments, _matrices(segments, transition, lengths))
    ways = semiring.stack(ended)
    last = (lengths - 1).clamp(min=0)[:, None, None].expand(*ways.shape[:-1], 1)
    return torch.where(lengths > 0, semiring.sum(ways.gather(-1, last).squeeze(-1), -1), empty)


def max_marginals(segments: Tensor, transition: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each segment, the best score of a segmentation that uses it, in the shape of ``segments``.

    The recursion runs forwards and then backwards; time O(n k c + n c^2).
    """
    batch, n, k, c = segments.shape
    if n == 0:
        return segments
    segments = segments.masked_fill(_beyond(segments, lengths), NEG_INF)
    matrices = _matrices(segments, transition, lengths)
    entered, _ = _forward(Max(), segments, matrices)
    at_end = torch.where(lengths[:, None] == torch.arange(n + 1, device=lengths.device), 0.0, NEG_INF)
    onward = [at_end[:, n, None].to(segments.dtype).expand(batch, c)]  # from the last position backwards
    result = []
    for start in range(n - 1, -1, -1):
        durations = min(k, n - start)
        rest = torch.stack(onward[: -durations - 1 : -1], 1)
        through = segments[:, start, :durations] + rest
        used = entered[start].unsqueeze(1) + through
        result.append(torch.nn.functional.pad(used, (0, 0, 0, k - durations), value=NEG_INF))
        if start > 0:
            following = (matrices[start - 1] + through.amax(1).unsqueeze(-2)).amax(-1)
            onward.append(torch.maximum(following, at_end[:, start, None]).expand(batch, c))
    return torch.stack(result[::-1], 1)


def _beyond(segments: Tensor, lengths: Tensor) -> Tensor:
    """Return a mask of the segments that extend past the length: ``(batch, n, k, 1)``."""
    n, k = segments.shape[-3:-1]
    starts, durations = (torch.arange(size, device=segments.device) for size in (n, k))
    return (starts[:, None] + durations >= lengths[:, None, None]).unsqueeze(-1)


def _matrices(segments: Tensor, transition: Tensor, lengths: Tensor) -> Sequence[Tensor]:
    """Return the transitions of all items at each inner boundary, n - 1 matrices ``(..., batch, c, c)``."""
    n, per_position = segments.shape[-3], transition.dim() == segments.dim()
    groups = -4 if per_position else -3
    each = transition.repeat_interleave(len(lengths) // max(transition.shape[groups], 1), groups)
    if not per_position:
        return [each] * (n - 1)
    beyond = torch.arange(1, n, device=segments.device) >= lengths[:, None]
    return each.masked_fill(beyond[..., None, None], 0.0).unbind(-3)


def _forward(
    semiring: Semiring, segments: Tensor, matrices: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the totals over all paths to each boundary, by the label of the next and of the last segment.

    Returns:
        The totals at positions 0 to n - 1 by the label of the segment that starts there, and the totals at 1 to n
        by the label of the segment that ends there. If all pairs of labels share a score, the former have one
        number for all labels.
    """
    n, k = segments.shape[-3:-1]
    by_end = _by_end(segments).unbind(-3)  # unlike n selections, its gradient takes one pass
    first = segments[..., 0, 0, : matrices[0].shape[-1]] if matrices else segments[..., 0, 0, :]
    entered = [semiring.one(torch.zeros_like(first))]
    ended = []
    for end in range(1, n + 1):
        durations = min(k, end)
        starts = semiring.stack(entered[: -durations - 1 : -1])
        ended.append(semiring.sum(semiring.weigh(starts, by_end[end - 1][..., :durations, :].mT), -1))
        if end < n:
            entered.append(semiring.sum(semiring.weigh(ended[-1].unsqueeze(-1), matrices[end - 1]), -2))
    return entered, ended


def _by_end(segments: Tensor) -> Tensor:
    """Return the scores of segments by their last position, ``[end, d, j]`` in place of ``[start, d, j]``.

    Entries of segments that would start before 0 are arbitrary.
    """
    n, k = segments.shape[-3:-1]
    last, durations = (torch.arange(size, device=segments.device) for size in (n, k))
    first = (last[:, None] - durations).clamp(min=0).unsqueeze(-1)
    return segments.gather(-3, first.expand(segments.shape))


def _labels_of_starts(parts: Tensor) -> Tensor:
    """Return the event of 0/1 parts ``(..., n, k, c)``: a label at the first position of each segment, else -1."""
    return used_alternatives(parts.amax(-2))


REFERENCE = DynamicProgram(recursion, count=2, to_events=_labels_of_starts)
