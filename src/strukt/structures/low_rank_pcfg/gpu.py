"""Low-rank grammars on GPUs: operations of PyTorch in float64, a few for all spans of a width; samples in Triton.

An item for which underflow could matter is computed in log space, by the reference. Which items these are is read
from the device, once in each pass.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from strukt.kernels import detour, dispatch
from strukt.kernels.autograd import Scores
from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.engine.gpu.available import device_of
from strukt.kernels.gradients import group_sums
from strukt.kernels.memory import MOST_ON_GPU
from strukt.kernels.semiring import NEG_INF
from strukt.structures.low_rank_pcfg import log_space
from strukt.structures.low_rank_pcfg.gpu_chart import Chart, Inputs, spans_by_start
from strukt.structures.low_rank_pcfg.gpu_inside import inside_pass
from strukt.structures.low_rank_pcfg.gpu_outside import Outside
from strukt.structures.low_rank_pcfg.reference import REFERENCE
from strukt.structures.low_rank_pcfg.weights import Weights, weigh
from strukt.structures.pcfg.cpu_charts import of_items

any_scores = True
"""True: the kernels accept scores of any size; items with large scores are computed in log space."""

BLOCK = 128
"""The number of weights that a program of the sampling kernel loads at a time."""


def fits(spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, *_: Any) -> bool:
    """Return True if there are words, and a GPU has the memory; see `strukt.kernels.dispatch`."""
    return spans.numel() > 0 and spans.shape[1] > 1 and fits_in_memory(len(spans), spans.shape[1] - 1, head)


def fits_in_memory(batch: int, n: int, head: Tensor) -> bool:
    """Return True if the chart of a batch has at most `MOST_ON_GPU` bytes; derivatives take fewer."""
    return 8 * math.prod(Chart.shape(batch, n, head.shape[2])) <= MOST_ON_GPU


def chart_shape(
    spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[int, int]:
    """Return the shape of the chart, ``(batch, 1 + n^2 (3 r + 3))``, in float64."""
    return Chart.shape(len(spans), emission.shape[1], head.shape[2])


def inside(
    spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and chart; time O(n^3 r + n^2 s r + n p r) per item, in n steps."""
    scores = (spans, root, left, right, head, emission)
    return run_inside(_inputs(*scores, lengths), REFERENCE, scores)


def run_inside(work: Inputs, reference: DynamicProgram, scores: Scores) -> tuple[Tensor, Tensor]:
    """Return the log-partition and the chart of a batch; mark items computed by the reference."""
    rank = work.weights.head.shape[2]
    memory = work.words.new_zeros(Chart.shape(len(work.words), work.n, rank))
    log_partition, unsafe = inside_pass(work, Chart(memory, work.n, rank))
    memory[:, 0] = unsafe
    items = unsafe.nonzero().squeeze(1)
    if len(items):
        log_space.write_log_partitions(reference, log_partition, scores, work.lengths, items)
    return log_partition.to(scores[0].dtype), memory


def outside(
    spans: Tensor,
    root: Tensor,
    left: Tensor,
    right: Tensor,
    head: Tensor,
    emission: Tensor,
    lengths: Tensor,
    weights: Tensor,
    chart: Tensor,
) -> Scores:
    """Return the gradients of the log-partitions, times the weight of each item, in the shapes of the scores."""
    scores = (spans, root, left, right, head, emission)
    work = _inputs(*scores, lengths)
    marginals = torch.zeros_like(spans, memory_format=torch.contiguous_format)
    derivatives, items = run_outside(work, weights, chart, marginals)
    words = derivatives.words.to(spans.dtype)
    marginals.diagonal(1, 1, 2)[:, root.shape[1] :] = words.mT
    in_words = group_sums(words, len(emission))
    grads = (marginals, *work.weights.as_gradients(derivatives.into, (root, left, right, head)), in_words)
    log_space.add_gradients(REFERENCE, grads, scores, lengths, weights, items)
    return grads


def run_outside(
    work: Inputs, weights: Tensor, memory: Tensor, marginals: Tensor | None
) -> tuple[Outside, Tensor]:
    """Return the derivatives of the items in probability space, and the indices of the items in log space."""
    unsafe = memory[:, 0] != 0.0
    chart = Chart(memory, work.n, work.weights.head.shape[2])
    derivatives = Outside(work, chart, weights.detach().double().masked_fill(unsafe, 0.0), marginals)
    return derivatives, unsafe.nonzero().squeeze(1)


def sample(
    spans: Tensor,
    root: Tensor,
    left: Tensor,
    right: Tensor,
    head: Tensor,
    emission: Tensor,
    lengths: Tensor,
    count: int,
) -> tuple[Tensor, Tensor]:
    """Return trees ``(batch, count, n + 1, n + 1)`` drawn from the root down, and the log-partition.

    Takes O(n (n + r + s + p)) for each tree, and O(n^2 s r) more for each item. The CPU computes batches of which
    the values of all labels are too large for a GPU.
    """
    scores = (spans, root, left, right, head, emission)
    work = _inputs(*scores, lengths)
    batch, n = len(spans), work.n
    if 8 * batch * n * n * root.shape[1] > MOST_ON_GPU:
        return detour.on_cpu(dispatch.kernels(__package__ or "", "cpu").sample, *scores, lengths, count)  # type: ignore[no-any-return]
    log_partition, memory = run_inside(work, REFERENCE, scores)
    unsafe = memory[:, 0] != 0.0
    events = lengths.new_full((batch, count, n + 1, n + 1), -1, dtype=torch.int64)
    drawable = ~unsafe & (log_partition > NEG_INF)  # not NaN either
    _draw(work, memory, lengths.where(drawable, 0), events)
    items = unsafe.nonzero().squeeze(1)
    if len(items):
        events[items] = REFERENCE.sample(*of_items(items, scores), lengths[items], count)[0]
    return events, log_partition


def _draw(work: Inputs, memory: Tensor, lengths: Tensor, events: Tensor) -> None:
    """Draw samples of the items whose length is not 0, and write them to ``events``."""
    from strukt.structures.low_rank_pcfg import gpu_sample  # needs Triton

    weights, n = work.weights, work.n
    (batch, count), (s, rank) = events.shape[:2], weights.head.shape[1:]
    chart, labels = Chart(memory, n, rank), memory.new_zeros(batch, n, n, s)
    for width in range(2, n + 1):
        values, span_weights = work.product(chart.sums(width), weights.head.mT), work.span_weights(width)
        labels[spans_by_start(n, width)] = values if span_weights is None else values * span_weights[0]
    words, _ = work.word_weights()
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count), device=memory.device)
    queue = lengths.new_empty(batch, count, 2 * n, 3, dtype=torch.int32)
    tables = (each.contiguous() for each in weights[:3])
    if count:
        with device_of(memory):
            gpu_sample.walk[(batch * count,)](
                memory, labels, words.contiguous(), *tables, batch // work.groups, lengths, seeds, queue, events,
                count, n, s, words.shape[2], rank, C=BLOCK,
            )  # fmt: skip


def _inputs(
    spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor, lengths: Tensor
) -> Inputs:
    words = emission.detach().double().repeat_interleave(len(spans) // max(len(emission), 1), 0)
    return Inputs(weights_of(root, left, right, head), words, spans.detach(), lengths)


def weights_of(*scores: Tensor) -> Weights:
    """Return the weights of root, left, right and head scores in float64."""
    return weigh(*(score.detach().double() for score in scores))
