"""Derivatives of a grammar's marginals along a direction of its scores on GPUs, in forward mode.

They are small differences between growths, which add up over a tree; so all numbers are float64.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from strukt.kernels import detour
from strukt.kernels.autograd import Scores
from strukt.kernels.memory import MOST_ON_GPU
from strukt.structures.pcfg.gpu_charts import Chart, fill
from strukt.structures.pcfg.gpu_duals import Duals, opened
from strukt.structures.pcfg.gpu_gradients import gradients
from strukt.structures.pcfg.gpu_layout import Numbers, sizes_of
from strukt.structures.pcfg.gpu_tops import by_scores, ratios, slopes_of_tops, totals
from strukt.structures.pcfg.reference import ORACLES

BYTES = 24
"""The size in bytes of a number in float64 with its move."""


class Moving(NamedTuple):
    """A filled chart of scores that move along a direction.

    Attributes:
        scores: The scores of spans, roots, rules and words.
        directions: The direction of each of the scores, in the same shapes.
        ring: The dual numbers to compute with.
        chart: The inside chart.
        total: ``(batch,)``, the totals of items.
        growth: ``(batch,)``, the derivatives of log-partitions along the direction; 0 for items without trees.
    """

    scores: Scores
    directions: Scores
    ring: Duals
    chart: Chart
    total: Numbers
    growth: Tensor


def derivative(*arguments: Tensor) -> Scores:
    """Return the gradients of <weighted marginals, directions> with respect to the scores and the weights.

    The arguments are scores, lengths, weights, a direction for each of the scores, and the chart, which is
    ignored. It takes three times the time of `gpu.inside` and `gpu.outside`, and twice their memory.
    """
    *inputs, _ = arguments
    lengths, dtype = inputs[4], inputs[0].dtype
    if not fits_in_memory(tuple(inputs[:4]), lengths):
        return detour.on_cpu(_on_cpu, *inputs)  # type: ignore[no-any-return]
    scores, directions = (tuple(score.double() for score in each) for each in (inputs[:4], inputs[6:]))
    moving = move(Duals(scores[0]), scores, directions, lengths)
    return tuple(part.to(dtype) for part in (*changes(moving, inputs[5].double()), moving.growth))


def fits_in_memory(scores: Scores, lengths: Tensor) -> bool:
    """Return True if the memory of a GPU suffices for the largest table of numbers with their derivatives."""
    return sizes_of(scores, lengths).largest * BYTES <= MOST_ON_GPU


def move(ring: Duals, scores: Scores, directions: Scores, lengths: Tensor) -> Moving:
    """Return the filled chart of scores that move along directions, with the totals and their growth."""
    chart = opened(ring, scores, directions, lengths)
    fill(ring, chart)
    total = totals(ring, chart, ring.of(scores[1], directions[1]))
    return Moving(scores, directions, ring, chart, total, ratios(total[2:], total[:2]))


def changes(moving: Moving, weights: Tensor) -> Scores:
    """Return the derivatives of the marginals, times the weight of each item, in the shapes of the scores."""
    scores, directions, ring, chart, total, growth = moving
    roots = [each[1].repeat_interleave(len(growth) // len(each[1]), 0) for each in (scores, directions)]
    numbers = ring.of(roots[0], roots[1] - growth[:, None])  # the derivative of a share of the total
    tops = slopes_of_tops(ring, chart, total, numbers, weights)
    return by_scores(scores, chart.lengths, *gradients(ring, chart, tops))


def _on_cpu(*arguments: Tensor) -> Scores:
    """Return the derivative by the CPU backend, with a chart of its own; the arguments are on the CPU."""
    _, chart = ORACLES.inside(*arguments[:5])
    return ORACLES.derivative(*arguments, chart)
