"""The inside pass of low-rank grammars on GPUs: some operations of PyTorch for all spans of a width."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.magnitude import LARGE
from strukt.structures.low_rank_pcfg.cpu_inside import CERTAIN
from strukt.structures.low_rank_pcfg.cpu_splits import TINY
from strukt.structures.low_rank_pcfg.gpu_chart import (
    Chart,
    Inputs,
    by_left,
    by_right,
    spans_by_end,
    spans_by_start,
)


class _Slack:
    """Bounds on the errors of values from numbers that underflowed, computed along with the values."""

    def __init__(self, work: Inputs) -> None:
        self._n = work.n
        self._factors = work.by_item(work.weights.factors).unsqueeze(1)
        self._left = work.words.new_zeros(len(work.words), self._n, self._n)
        self._right = torch.zeros_like(self._left)

    def of_sums(self, width: int, shares: Tensor) -> Tensor:
        """Return the bounds of the sums over split points, ``(batch, m)``."""
        both = self._left[by_left(self._n, width)] + self._right[by_right(self._n, width)]
        return (shares * both).sum(-1)

    def write(self, width: int, of_sums: Tensor | float, peak: Tensor) -> None:
        """Write the bounds of the values of a width, from those of the sums."""
        bounds = (of_sums * self._factors + TINY) / peak
        self._left[spans_by_start(self._n, width)] = bounds
        self._right[spans_by_end(self._n, width)] = bounds


def inside_pass(work: Inputs, chart: Chart) -> tuple[Tensor, Tensor]:
    """Fill the chart; return the log-partition ``(batch,)``, and a mask of the items that need log space.

    In those, numbers underflow, or scores are so large that their logs lose digits.
    """
    slack, of_tops = _Slack(work), []
    rule_top = work.by_item(work.weights.rule_top).unsqueeze(1)
    for width in range(1, work.n + 1):
        bounds: Tensor | float = 0.0
        if width == 1:
            words, scale = work.word_weights()
            values = work.product(words, work.weights.preterminals)
        else:
            splits = chart.splits(width)
            sums = (splits.shares.unsqueeze(-2) @ (splits.left * splits.right)).squeeze(-2)
            chart.write_sums(width, sums)
            bounds = slack.of_sums(width, splits.shares)
            of_tops.append(bounds[:, 0])
            values, span_top = _values(work, width, sums)
            scale = splits.top + rule_top + span_top
        peak = values.amax(-1)
        peak = torch.where(peak == 0.0, 1.0, peak)  # no tree, or one that underflowed, which the slack knows
        chart.write(width, values / peak.unsqueeze(-1), scale + peak.log(), peak)
        slack.write(width, bounds, peak)
    return _totals(work, chart, of_tops)


def _values(work: Inputs, width: int, sums: Tensor) -> tuple[Tensor, Tensor | float]:
    """Return the values ``(batch, m, 2 r)`` of spans from their sums ``(batch, m, r)``, and their log-scales."""
    if work.joined is not None:
        return work.product(sums, work.joined), 0.0
    labels = work.product(sums, work.weights.head.mT)
    span_weights = work.span_weights(width)
    if span_weights is None:
        return work.product(labels, work.weights.children), 0.0
    return work.product(labels * span_weights[0], work.weights.children), span_weights[1]


def _totals(work: Inputs, chart: Chart, of_tops: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the results of `inside_pass` from the filled chart.

    ``of_tops`` are, for each width from 2 on, the bounds of the sums of the span at the start, ``(batch,)``.
    """
    lengths, heads = work.lengths, work.root_rank_weights()
    sums, scale, peak = chart.tops(lengths)
    nothing = torch.zeros_like(scale)
    slack = torch.stack([nothing, nothing, *of_tops], 1).gather(1, lengths.unsqueeze(1)).squeeze(1)
    total = (sums * heads).sum(1)
    log = total.log() + scale - peak.log() + work.by_item(work.weights.root_top)
    safe = (slack * heads.sum(1) + TINY <= CERTAIN * total) & (log > -LARGE) & (chart.largest_scale < LARGE)
    result = torch.where(lengths > 1, log, torch.where(lengths == 0, 0.0, -torch.inf))
    return result, (lengths > 1) & ~safe
