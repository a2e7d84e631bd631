"""Fused passes of `strukt.structures.low_rank_pcfg` without the labels of spans."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.memory import empty, zeros
from strukt.structures.low_rank_pcfg import cpu, log_space
from strukt.structures.low_rank_pcfg.cpu_outside import (
    label_gradients,
    outside_pass,
    rank_gradients,
    word_gradients,
)
from strukt.structures.low_rank_pcfg.cpu_sentences import Sentences
from strukt.structures.low_rank_pcfg.rank_inside.reference import REFERENCE
from strukt.structures.low_rank_pcfg.weights import weigh


def chart_shape(
    emission: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, lengths: Tensor
) -> tuple[int, int, int]:
    """Return the shape of the chart, ``(batch, n (n + 1) / 2, 3 r + 2)``, in float64."""
    return cpu.shape_of_chart(len(emission), emission, head)


def inside(
    emission: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart.

    Time O(n^3 r + n^2 r min(r, s) + n p r) per item, and O(s r^2) per grammar.
    """
    scores = (emission, root, left, right, head)
    chart = torch.from_numpy(empty(chart_shape(*scores, lengths)))
    work = _sentences(*scores, lengths, chart)
    return cpu.run_inside(work, REFERENCE, scores, lengths).to(emission.dtype), chart


def outside(
    emission: Tensor,
    root: Tensor,
    left: Tensor,
    right: Tensor,
    head: Tensor,
    lengths: Tensor,
    weights: Tensor,
    chart: Tensor,
) -> Scores:
    """Return gradients of the log-partitions, times the weight of each item, in the shapes of the scores."""
    scores = (emission, root, left, right, head)
    if not chart.numel():
        return tuple(zeros(score) for score in scores)
    underflowed = cpu.underflowed_items(chart)
    known = lengths.index_fill(0, underflowed, 0)
    work = _sentences(*scores, known, chart)
    slopes, shares = outside_pass(work, weights.detach())
    into = work.weights.no_gradients()
    if work.joined is None:
        label_gradients(work, slopes, shares, into, None)
    else:
        rank_gradients(work, slopes, shares, into)
    words = word_gradients(work, slopes, into).to(emission.dtype)
    grads = (words, *work.weights.as_gradients(into, (root, left, right, head)))
    log_space.add_gradients(REFERENCE, grads, scores, lengths, weights, underflowed)
    return grads


def _sentences(
    emission: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, lengths: Tensor, chart: Tensor
) -> Sentences:
    weights = weigh(*(score.detach() for score in (root, left, right, head)))
    return Sentences(weights, emission.detach().double(), None, lengths, chart)
