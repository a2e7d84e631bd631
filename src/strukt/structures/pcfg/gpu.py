"""Probabilistic context-free grammars on GPUs: kernels for log-partition, marginals and mode.

Numbers are mantissas and exponents, so that float32 never underflows. All sums have a fixed order, so that results
are bitwise reproducible. Nothing waits for the device but the derivative of marginals, which the CPU computes.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from strukt.kernels import detour
from strukt.kernels.autograd import Scores
from strukt.kernels.engine.gpu.available import device_of
from strukt.kernels.gradients import group_sums
from strukt.kernels.memory import MOST_ON_GPU
from strukt.kernels.semiring import NEG_INF
from strukt.structures.pcfg.gpu_charts import Chart, fill, open_chart
from strukt.structures.pcfg.gpu_gradients import gradients
from strukt.structures.pcfg.gpu_layout import Matrices, Numbers, sizes_of
from strukt.structures.pcfg.gpu_rings import Maxima, Sums
from strukt.structures.pcfg.reference import ORACLES

any_scores = True
"""True, since scores of any size are exact; see `strukt.kernels.engine.gpu.backend.Gpu`."""

MOST_WORDS = 1 << 20
"""The most words, with padding: a launch has a limited number of tiles of them."""

LEFT, RIGHT = 8, 64
"""The size of a tile of rules in the walk along the best tree, by left and right child."""


def fits(spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor, *_: Any) -> bool:
    """Return True if there are words, and a GPU has the memory; see `strukt.kernels.dispatch`."""
    sizes = sizes_of(root, rules, emission, lengths)
    words, labels = sizes.batch * (sizes.n + 1), sizes.labels
    numbers = sizes.s * max(words * max(labels, sizes.n + 1), sizes.groups * labels**2)
    known = spans.dtype in (torch.float32, torch.float64) and spans.numel() > 0 and emission.numel() > 0
    return known and words <= MOST_WORDS and numbers * (spans.element_size() + 4) <= MOST_ON_GPU


def chart_shape(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[int, int]:
    """Return the shape of the chart as memory of float64: mantissas, then exponents of 32 bits."""
    cells = math.prod(sizes_of(root, rules, emission, lengths).chart[1:])
    return len(lengths), cells if spans.dtype == torch.float32 else cells + -(-cells // 2)


def inside(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return log-partition ``(batch,)`` and chart; time O(n^3 s^2 + n^2 s^3 + n s p (s + p)) an item, n steps."""
    ring = Sums(spans)
    chart = open_chart(ring, spans, root, rules, emission, lengths)
    fill(ring, chart)
    mantissa, exponent = _totals(ring, chart, ring.of(root))
    unit = math.log(2.0) * (32 if spans.dtype == torch.float32 else 256)
    log_partition = torch.where(mantissa == 0.0, NEG_INF, mantissa.double().log() + unit * exponent.double())
    log_partition = torch.where(lengths == 0, 0.0, log_partition)
    result = spans.new_empty(chart_shape(spans, root, rules, emission, lengths), dtype=torch.float64)
    for kept, numbers in zip(_kept(result, spans, chart), chart.inside, strict=True):
        kept.copy_(numbers.flatten(1))
    return log_partition.to(spans.dtype), result


def outside(
    spans: Tensor,
    root: Tensor,
    rules: Tensor,
    emission: Tensor,
    lengths: Tensor,
    weights: Tensor,
    chart: Tensor,
) -> Scores:
    """Return expected parts, times the weight of each item, in the shapes of the scores; time as `inside`."""
    ring = Sums(spans)
    filled = open_chart(ring, spans, root, rules, emission, lengths)
    for kept, numbers in zip(_kept(chart, spans, filled), filled.inside, strict=True):
        numbers.copy_(kept.view(numbers.shape))
    roots = ring.of(root)
    expected, used = gradients(filled, _slopes_of_tops(ring, filled, roots, weights))
    s, items = root.shape[1], torch.arange(len(lengths), device=lengths.device)
    words = expected.diagonal(1, 1, 2)[:, s:].mT
    return expected, group_sums(expected[items, 0, lengths, :s], len(root)), used, group_sums(words, len(emission))


def best(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return labels of the best tree ``(batch, n + 1, n + 1)`` and its score (CKY); time as `inside`."""
    from strukt.structures.pcfg import gpu_cky  # needs Triton

    ring = Maxima(spans)
    chart = open_chart(ring, spans, root, rules, emission, lengths)
    fill(ring, chart)
    batch, n, s, p = len(spans), chart.sizes.n, chart.sizes.s, chart.sizes.p
    events, score = lengths.new_full(spans.shape[:3], -1, dtype=torch.int64), spans.new_empty(batch)
    queue = lengths.new_empty(batch, 2 * n, 3, dtype=torch.int32)
    with device_of(spans):
        gpu_cky.walk[(batch,)](
            *chart.inside, *chart.words, root.contiguous(), rules.contiguous(), batch // len(rules),
            batch // len(root), chart.lengths, queue, events, score, n, s, p, B=LEFT, C=RIGHT,
        )  # fmt: skip
    return events, score


def _kept(memory: Tensor, spans: Tensor, chart: Chart) -> Numbers:
    """Return the mantissas and exponents ``(batch, cells)`` in the memory of a chart."""
    cells = math.prod(chart.sizes.chart[1:])
    mantissas, exponents = memory.contiguous().view(spans.dtype), memory.contiguous().view(torch.int32)
    return mantissas[:, :cells], exponents[:, exponents.shape[1] - cells :]


def _tops(chart: Chart) -> Numbers:
    """Return the numbers of whole items with each label: ``(batch, s)``."""
    items = torch.arange(chart.sizes.batch, device=chart.lengths.device)
    mantissas, exponents = (numbers[items, 0, chart.lengths] for numbers in chart.inside)
    return mantissas, exponents


def _totals(ring: Sums, chart: Chart, root: Numbers) -> Numbers:
    """Return the totals of items ``(batch,)``; 0 for those of no words."""
    batch, s, groups = chart.sizes.batch, chart.sizes.s, len(root[0])
    result, sharing = ring.nothing(batch), batch // groups
    ring.multiply(
        Matrices(_tops(chart), sharing * s, s, 0, 0, 1),
        Matrices(root, s, 0, 0, 0, 1),
        Matrices(result, sharing, 1, 0, 0, 0),
        (groups, sharing),
        (1, 1, s),
    )
    return result


def _slopes_of_tops(ring: Sums, chart: Chart, root: Numbers, weights: Tensor) -> Numbers:
    """Return the derivatives of weighted log-partitions in the numbers of whole items: ``(batch, s)``."""
    mantissas, exponents = _totals(ring, chart, root)
    some = mantissas != 0.0
    factors = torch.where(some, weights / torch.where(some, mantissas, 1.0), 0.0)
    batch, s, sharing = chart.sizes.batch, chart.sizes.s, chart.sizes.batch // len(root[0])
    result = ring.nothing(batch, s)
    ring.multiply(
        Matrices((factors, -exponents), sharing, 1, 0, 0, 0),
        Matrices(root, s, 0, 0, 1, 0),
        Matrices(result, sharing * s, s, 0, 0, 1),
        (len(root[0]), sharing),
        (1, s, 1),
    )
    return result


def _derivative_on_cpu(*arguments: Tensor) -> Scores:
    """Return the derivative of tensors on the CPU, with a chart of its kernels."""
    _, chart = ORACLES.inside(*arguments[:5])
    return ORACLES.derivative(*arguments, chart)


derivative = detour.OnCPU(_derivative_on_cpu, dropped=1)
"""The gradients of <`outside`, directions>, by the CPU's kernels; the chart, the last argument, is not used."""
