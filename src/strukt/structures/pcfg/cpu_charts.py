"""Inside charts of a batch, with marks for the items that the reference computes in log space instead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import Scores
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.memory import empty
from strukt.structures.pcfg import cpu_inside
from strukt.structures.pcfg.cpu_weights import Grammar, weigh

UNDERFLOWED = float("inf")
"""The value of ``chart[b, 0, 0, s]`` that marks item b as computed in log space; it is 0 for other items."""


class Charts(NamedTuple):
    """The inside charts in probability space.

    Attributes:
        grammar: The weights of the grammar.
        chart: ``(batch, n, n + 1, s + 2)``; see `cpu_inside`.
        log_partition: ``(batch,)``, of float64.
        underflowed: ``(batch,)``, True for items with a weight that underflows in probability space.
    """

    grammar: Grammar
    chart: Array
    log_partition: Array
    underflowed: Array


def chart_shape(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[int, int, int, int]:
    """Return the shape of the chart, which is float64: ``(batch, n, n + 1, s + 2)``."""
    batch, size = spans.shape[:2]
    return batch, size - 1, size, root.shape[1] + 2


def fill(scores: Scores, lengths: Tensor) -> Charts:
    """Compute the inside charts of a batch of sentences; n must be at least 1."""
    spans, root, rules, emission = scores
    chart = empty(chart_shape(spans, root, rules, emission, lengths))
    log_partition = np.zeros(len(spans))
    grammar, underflowed = weigh(len(spans), *arrays_of(root, rules))
    arrays = arrays_of(spans, emission, lengths)
    over_batch(cpu_inside.inside, threads_for(scores), grammar, *arrays, chart, log_partition, underflowed)
    chart[:, 0, 0, -2] = np.where(underflowed, UNDERFLOWED, 0.0)
    return Charts(grammar, chart, log_partition, underflowed)


def arrays_of(*tensors: Tensor) -> tuple[Array, ...]:
    """Return contiguous arrays, scores in double precision so that each kernel is compiled for one type only."""
    doubled = (tensor.double() if tensor.is_floating_point() else tensor for tensor in tensors)
    return tuple(tensor.detach().contiguous().numpy() for tensor in doubled)


def threads_for(scores: Scores) -> int:
    """Return the number of threads for a pass over a batch."""
    batch, n, s = len(scores[0]), scores[0].shape[1] - 1, scores[1].shape[1]
    return thread_count(batch, batch * n * n * s * s * (n + s))


def underflowed_items(chart: Tensor) -> Tensor:
    """Return the indices of the items that are computed in log space."""
    return (chart[:, 0, 0, -2] == UNDERFLOWED).nonzero().squeeze(-1)
