"""Low-rank grammars on GPUs: operations of PyTorch in float64, a few for all spans of a width; samples in Triton.

An item for which underflow could matter is computed in log space, by the reference. The indices of these items are
read from the device, once in each pass.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from strukt.kernels import detour, dispatch
from strukt.kernels.autograd import Scores
from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.gradients import group_sums
from strukt.kernels.memory import MOST_ON_GPU
from strukt.kernels.semiring import NEG_INF
from strukt.structures.low_rank_pcfg.gpu_chart import Chart, Inputs, spans_by_start
from strukt.structures.low_rank_pcfg.gpu_inside import inside_pass
from strukt.structures.low_rank_pcfg.gpu_outside import Outside
from strukt.structures.low_rank_pcfg.reference import REFERENCE
from strukt.structures.low_rank_pcfg.weights import weigh
from strukt.structures.pcfg import log_space

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
    """Return the shape of the chart, which is float64: ``(batch, 1 + n^2 (3 r + 3))``."""
    return Chart.shape(len(spans), emission.shape[1], head.shape[2])


def inside(
    spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart, in n sequential steps.

    Time O(n^3 r + n^2 s r + n p r) per item.
    """
    scores = (spans, root, left, right, head, emission)
    return run_inside(_inputs(scores, lengths), REFERENCE, scores)


def run_inside(work: Inputs, reference: DynamicProgram, scores: Scores) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the filled chart; mark items computed by the reference."""
    rank = work.weights.head.shape[2]
    memory = work.words.new_zeros(Chart.shape(len(work.words), work.n, rank))
    log_partition, unsafe = inside_pass(work, Chart(memory, work.n, rank))
    memory[:, 0] = unsafe
    items = unsafe.nonzero().squeeze(1)
    if len(items):
        log_space.write_log_partitions(reference, log_partition, scores, work.lengths, items)
    return log_partition.to(scores[0].dtype), memory


def outside(*arguments: Tensor) -> Scores:
    """Return the gradients of the log-partitions, times the weight of each item, in the shapes of the scores.

    The arguments are scores, lengths, weights and the chart.
    """
    scores, (lengths, weights, chart) = arguments[:6], arguments[6:]
    spans, *rules, emission = scores
    marginals = torch.zeros_like(spans, memory_format=torch.contiguous_format)
    in_rules, words, items = run_outside(_inputs(scores, lengths), tuple(rules), weights, chart, marginals)
    marginals.diagonal(1, 1, 2)[:, rules[0].shape[1] :] = words.mT
    grads = (marginals, *in_rules, group_sums(words, len(emission)))
    log_space.add_gradients(REFERENCE, grads, scores, lengths, weights, items)
    return grads


def run_outside(
    work: Inputs, rules: Scores, weights: Tensor, memory: Tensor, marginals: Tensor | None
) -> tuple[Scores, Tensor, Tensor]:
    """Return the gradients of root, left, right and head scores, ``rules``, and those of words ``(batch, n, p)``.

    Also return the indices of the items in log space, which are left out. The marginals of labels are written to
    ``marginals``, unless it is None.
    """
    unsafe = memory[:, 0] != 0.0
    chart = Chart(memory, work.n, work.weights.head.shape[2])
    derivatives = Outside(work, chart, weights.detach().double().masked_fill(unsafe, 0.0), marginals)
    in_rules = work.weights.as_gradients(derivatives.into, rules)
    return in_rules, derivatives.words.to(rules[0].dtype), unsafe.nonzero().squeeze(1)


def sample(*arguments: Any) -> tuple[Tensor, Tensor]:
    """Return trees ``(batch, count, n + 1, n + 1)`` drawn from the root down, and the log-partition ``(batch,)``.

    The arguments are scores, lengths and count. Takes O(n (n + r + s + p)) for each tree, and O(n^2 s r) more for
    each item. A batch whose table of values of labels is too large for a GPU is computed on the CPU.
    """
    scores, (lengths, count) = arguments[:6], arguments[6:]
    work = _inputs(scores, lengths)
    batch, n = work.words.shape[:2]
    if 8 * batch * n * n * work.weights.root.shape[1] > MOST_ON_GPU:
        return detour.on_cpu(dispatch.kernels(__package__ or "", "cpu").sample, *scores, lengths, count)  # type: ignore[no-any-return]
    log_partition, memory = run_inside(work, REFERENCE, scores)
    unsafe = memory[:, 0] != 0.0
    events = lengths.new_full((batch, count, n + 1, n + 1), -1, dtype=torch.int64)
    drawable = ~unsafe & (log_partition > NEG_INF)  # not NaN either
    _draw(work, memory, lengths.where(drawable, 0), events)
    items = unsafe.nonzero().squeeze(1)
    if len(items):
        events[items] = REFERENCE.sample(*log_space.of_items(items, scores), lengths[items], count)[0]
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
            launcher(gpu_sample.walk, (batch * count,))(
                memory, labels, words.contiguous(), *tables, batch // work.groups, lengths, seeds, queue, events,
                count, n, s, words.shape[2], rank, C=BLOCK,
            )  # fmt: skip


def _inputs(scores: Scores, lengths: Tensor) -> Inputs:
    """Return the inputs of the passes, detached."""
    spans, *rules, emission = (score.detach() for score in scores)
    words = emission.double().repeat_interleave(len(spans) // max(len(emission), 1), 0)
    return Inputs(weigh(*(score.double() for score in rules)), words, spans, lengths)
