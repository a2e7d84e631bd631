"""Reference of binary trees over spans: the inside algorithm over any semiring, in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from strukt.kernels.dynamic_program import DynamicProgram, used_alternatives
from strukt.kernels.semiring import NEG_INF, Max, Semiring

Diagonals = list[Tensor]
"""The values of all spans by width: entry w is ``(..., batch, n + 1 - w)``, indexed by the first fencepost."""


def recursion(semiring: Semiring, spans: Tensor, lengths: Tensor, labelled: bool) -> Tensor:
    """Return the semiring's total over all binary trees.

    Args:
        semiring: The semiring to compute in.
        spans: ``(..., batch, n + 1, n + 1)``, with a last axis of labels if ``labelled``; ``[i, j]`` scores the
            span from fencepost i to j > i.
        lengths: ``(batch,)``.
        labelled: Whether there is an axis of labels; labels are summed first, outside the cubic part.

    Time O(n^3 + n^2 c), n steps one after another (Baker 1979).
    """
    spans = clean(spans, lengths, int(labelled))
    ones = semiring.one(spans)
    values = semiring.weigh(ones, spans)
    if not labelled:
        return total(semiring, values, ones, lengths)
    return total(semiring, semiring.sum(values, -1), ones[..., 0], lengths)


def total(semiring: Semiring, values: Tensor, ones: Tensor, lengths: Tensor) -> Tensor:
    """Return the semiring's total over all binary trees, from the values of spans ``(..., batch, n + 1, n + 1)``.

    The empty tree has weight one, regardless of the value of the empty span: ``ones`` holds the semiring's one in
    the shape of the values.
    """
    inside, _ = _inside(semiring, values)
    firsts = [ones[..., 0, 0], *(diagonal[..., 0] for diagonal in inside[1:])]
    totals = semiring.stack(firsts)
    chosen = totals.gather(-1, lengths.expand(totals.shape[:-1]).unsqueeze(-1))
    return semiring.sum(chosen, -1)  # a sum of one term, so that a total of weight zero has no gradient


def max_marginals(spans: Tensor, lengths: Tensor, labelled: bool) -> Tensor:
    """Return, for each part, the best score of a tree that uses it, shaped like ``spans``; time O(n^3 + n^2 c)."""
    spans = clean(spans, lengths, int(labelled))
    values = spans.amax(-1) if labelled else spans
    inside, split = _inside(Max(), values)
    n = spans.shape[1] - 1
    # The best outside score of each span, from wide to narrow; 0 for the span of the whole item.
    around = [values.new_full((len(values), n + 1 - width), NEG_INF) for width in range(n + 1)]
    result = torch.full_like(values, NEG_INF)
    for width in range(n, 0, -1):
        covers = (lengths == width).unsqueeze(-1) & (torch.arange(n + 1 - width, device=spans.device) == 0)
        around[width] = torch.where(covers, 0.0, around[width])
        best = around[width] + split[width]
        result.diagonal(width, -2, -1).copy_(best)
        parent = around[width] + values.diagonal(width, -2, -1)
        count = n + 1 - width
        for part in range(1, width):
            rest = width - part
            left = parent + inside[rest][:, part : part + count]
            right = parent + inside[rest][:, :count]
            for more in (pad(left, (0, rest), value=NEG_INF), pad(right, (rest, 0), value=NEG_INF)):
                around[part] = torch.maximum(around[part], more)
    return result.unsqueeze(-1) + spans if labelled else result + spans


def clean(scores: Tensor, lengths: Tensor, more: int) -> Tensor:
    """Return scores with 0 for all entries but spans within the lengths.

    ``scores`` is ``(..., batch, n + 1, n + 1)``, with ``more`` further axes at the end.
    """
    size = scores.shape[-1 - more]
    ends = torch.arange(size, device=scores.device)
    beyond = (ends[:, None] >= ends) | (ends > lengths[:, None, None])
    return scores.masked_fill(beyond.reshape(*beyond.shape, *(1,) * more), 0.0)


def _inside(semiring: Semiring, values: Tensor) -> tuple[Diagonals, Diagonals]:
    """Return the totals of the trees over each span, and these totals without the value of the whole span.

    ``values (..., batch, n + 1, n + 1)`` are the values of spans. Entry 0 of both lists, for empty spans, is
    unused.
    """
    n = values.shape[-1] - 1
    nothing = values.diagonal(0, -2, -1)
    inside, split = [nothing], [nothing]
    for width in range(1, n + 1):
        scores = values.diagonal(width, -2, -1)
        count = n + 1 - width
        if width == 1:
            split.append(torch.zeros_like(scores))
            inside.append(scores)
            continue
        starts = semiring.stack([inside[part][..., :count] for part in range(1, width)])
        ends = semiring.stack([inside[width - part][..., part : part + count] for part in range(1, width)])
        split.append(semiring.sum(semiring.times(starts, ends), -1))
        inside.append(semiring.times(split[-1], scores))
    return inside, split


def _labels_of_spans(parts: Tensor, labelled: bool) -> Tensor:
    """Return the events ``(..., n + 1, n + 1)`` of 0/1 vectors of parts."""
    return used_alternatives(parts if labelled else parts.unsqueeze(-1))


REFERENCE = DynamicProgram(recursion, count=1, to_events=_labels_of_spans)
