"""Fused passes of `strukt.structures.low_rank_pcfg` without the labels of spans."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.memory import empty, zeros
from strukt.structures.low_rank_pcfg import cpu
from strukt.structures.low_rank_pcfg.cpu_sentences import Sentences
from strukt.structures.low_rank_pcfg.rank_inside.reference import REFERENCE
from strukt.structures.low_rank_pcfg.weights import weigh
from strukt.structures.pcfg import log_space


def chart_shape(
    emission: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, lengths: Tensor
) -> tuple[int, int, int]:
    """Return the shape of the chart, which is float64: ``(batch, n (n + 1) / 2, 3 r + 2)``."""
    return cpu.shape_of_chart(len(emission), emission, head)


def inside(
    emission: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart.

    Time O(n^3 r + n^2 r min(r, s) + n p r) per item, and O(s r^2) per grammar.
    """
    scores = (emission, root, left, right, head)
    chart = torch.from_numpy(empty(chart_shape(*scores, lengths)))
    return cpu.run_inside(_sentences(scores, lengths, chart), REFERENCE, scores)


def outside(*arguments: Tensor) -> Scores:
    """Return gradients of the log-partitions, times the weight of each item, in the shapes of the scores.

    The arguments are scores, lengths, weights and the chart.
    """
    scores, (lengths, weights, chart) = arguments[:5], arguments[5:]
    if not chart.numel():
        return tuple(zeros(score) for score in scores)
    underflowed = cpu.underflowed_items(chart)
    work = _sentences(scores, lengths.index_fill(0, underflowed, 0), chart)
    in_rules, words = cpu.run_outside(work, scores[1:], weights, None)
    grads = (words, *in_rules)
    log_space.add_gradients(REFERENCE, grads, scores, lengths, weights, underflowed)
    return grads


def _sentences(scores: Scores, lengths: Tensor, chart: Tensor) -> Sentences:
    emission, *rules = (score.detach() for score in scores)
    return Sentences(weigh(*rules), emission.double(), None, lengths, chart)
