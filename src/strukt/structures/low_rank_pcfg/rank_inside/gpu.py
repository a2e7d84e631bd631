"""Passes of `strukt.structures.low_rank_pcfg.gpu` without the labels of spans."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.structures.low_rank_pcfg import gpu
from strukt.structures.low_rank_pcfg.gpu import any_scores
from strukt.structures.low_rank_pcfg.gpu_chart import Chart, Inputs
from strukt.structures.low_rank_pcfg.rank_inside.reference import REFERENCE
from strukt.structures.low_rank_pcfg.weights import weigh
from strukt.structures.pcfg import log_space

__all__ = ["any_scores", "chart_shape", "fits", "inside", "outside"]


def fits(emission: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, *_: Any) -> bool:
    """Return True if there are words, and a GPU has the memory; see `strukt.kernels.dispatch`."""
    return emission.numel() > 0 and gpu.fits_in_memory(len(emission), emission.shape[1], head)


def chart_shape(
    emission: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, lengths: Tensor
) -> tuple[int, int]:
    """Return the shape of the chart, which is float64: ``(batch, 1 + n^2 (3 r + 3))``."""
    return Chart.shape(len(emission), emission.shape[1], head.shape[2])


def inside(
    emission: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart, in n sequential steps.

    Time O(n^3 r + n^2 r min(r, s) + n p r) per item, and O(s r^2) per grammar.
    """
    scores = (emission, root, left, right, head)
    return gpu.run_inside(_inputs(scores, lengths), REFERENCE, scores)


def outside(*arguments: Tensor) -> Scores:
    """Return gradients of the log-partitions, times the weight of each item, in the shapes of the scores.

    The arguments are scores, lengths, weights and the chart.
    """
    scores, (lengths, weights, chart) = arguments[:5], arguments[5:]
    in_rules, words, items = gpu.run_outside(_inputs(scores, lengths), scores[1:], weights, chart, None)
    grads = (words, *in_rules)
    log_space.add_gradients(REFERENCE, grads, scores, lengths, weights, items)
    return grads


def _inputs(scores: Scores, lengths: Tensor) -> Inputs:
    emission, *rules = (score.detach().double() for score in scores)
    return Inputs(weigh(*rules), emission, None, lengths)
