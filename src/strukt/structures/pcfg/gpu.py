"""Probabilistic context-free grammars on GPUs: kernels for sums, best trees, samples and derivatives.

Numbers in sums are mantissas and exponents, so that float32 never underflows. All sums have a fixed order, so that
results are reproducible to the bit. The CPU waits for the GPU only in entropies, cross-entropies and their
gradients, and in derivatives that do not fit into the memory of the GPU.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.memory import MOST_ON_GPU
from strukt.kernels.semiring import NEG_INF
from strukt.structures.pcfg import gpu_derivative, gpu_entropy
from strukt.structures.pcfg.gpu_charts import Chart, fill
from strukt.structures.pcfg.gpu_gradients import gradients, pass_down
from strukt.structures.pcfg.gpu_layout import Numbers, sizes_of
from strukt.structures.pcfg.gpu_rings import Maxima, Sums, opened
from strukt.structures.pcfg.gpu_tops import by_scores, log_partitions, slopes_of_tops, totals

any_scores = True
"""True: results are exact for scores of any magnitude; see `strukt.kernels.engine.gpu.backend.Gpu`."""

MOST_WORDS = 1 << 20
"""The most words of a batch, including padding: the grid of a launch has a limited number of tiles."""

LEFT, RIGHT = 8, 64
"""The numbers of labels of left and of right children in a tile of rules, in kernels that trace single trees."""

derivative = gpu_derivative.derivative
entropy, entropy_gradient = gpu_entropy.entropy, gpu_entropy.entropy_gradient
surprise, surprise_gradient = gpu_entropy.surprise, gpu_entropy.surprise_gradient


def fits(spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor, *_: Any) -> bool:
    """Return True if there are words, not too many, in a type that kernels support, and a GPU has the memory.

    See `strukt.kernels.dispatch`.
    """
    sizes = sizes_of((spans, root, rules, emission), lengths)
    known = spans.dtype in (torch.float32, torch.float64) and spans.numel() > 0 and emission.numel() > 0
    few = sizes.batch * (sizes.n + 1) <= MOST_WORDS
    return known and few and sizes.largest * (spans.element_size() + 4) <= MOST_ON_GPU


def chart_shape(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[int, int]:
    """Return the shape of the chart as an array of float64: its memory holds mantissas, then 32-bit exponents."""
    cells = math.prod(sizes_of((spans, root, rules, emission), lengths).chart[1:])
    return len(lengths), cells if spans.dtype == torch.float32 else cells + -(-cells // 2)


def inside(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart, in n sequential steps.

    Time O(n^3 s^2 + n^2 s^3 + n s p (s + p)) per item.
    """
    ring, scores = Sums(spans), (spans, root, rules, emission)
    chart = _filled(ring, scores, lengths)
    result = spans.new_empty(chart_shape(*scores, lengths), dtype=torch.float64)
    for kept, numbers in zip(_kept(result, spans, chart), chart.inside, strict=True):
        kept.copy_(numbers.flatten(1))
    return log_partitions(totals(ring, chart, ring.of(root)), lengths).to(spans.dtype), result


def outside(*arguments: Tensor) -> Scores:
    """Return the gradients of the log-partitions times ``weights (batch,)``: expected uses of each score.

    They have the shapes of the scores; time as `inside`. The arguments are scores, lengths, weights and the chart.
    """
    scores, (lengths, weights, chart) = arguments[:4], arguments[4:]
    spans, root = scores[:2]
    ring = Sums(spans)
    filled = opened(ring, scores, lengths)
    for kept, numbers in zip(_kept(chart, spans, filled), filled.inside, strict=True):
        numbers.copy_(kept.view(numbers.shape))
    roots = ring.of(root)
    tops = slopes_of_tops(ring, filled, totals(ring, filled, roots), roots, weights)
    return by_scores(scores, lengths, *gradients(ring, filled, tops))


def best(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the labels of the best tree ``(batch, n + 1, n + 1)`` (CKY) and its score ``(batch,)``.

    Time as `inside`.
    """
    from strukt.structures.pcfg import gpu_cky  # needs Triton

    chart = _filled(Maxima(spans), (spans, root, rules, emission), lengths)
    batch, n, s, p = len(spans), chart.sizes.n, chart.sizes.s, chart.sizes.p
    events, score = lengths.new_full(spans.shape[:3], -1, dtype=torch.int64), spans.new_empty(batch)
    queue = lengths.new_empty(batch, 2 * n, 3, dtype=torch.int32)
    with device_of(spans):
        launcher(gpu_cky.walk, (batch,))(
            *chart.inside, *chart.words, root.contiguous(), rules.contiguous(), batch // len(rules),
            batch // len(root), chart.lengths, queue, events, score, n, s, p, B=LEFT, C=RIGHT,
        )  # fmt: skip
    return events, score


def kbest(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """Return the k best trees ``(batch, k, n + 1, n + 1)`` and their scores ``(batch, k)``.

    Time as `best` plus O(k n^2 (s + p)^2).
    """
    from strukt.kernels.engine.gpu.run import block  # needs Triton
    from strukt.structures.pcfg import gpu_kbest

    chart = _filled(Maxima(spans), (spans, root, rules, emission), lengths)
    batch, n, s, p = len(spans), chart.sizes.n, chart.sizes.s, chart.sizes.p
    events = lengths.new_full((batch, k, n + 1, n + 1), -1, dtype=torch.int64)
    scores = spans.new_full((batch, k), NEG_INF, dtype=torch.float64)
    queue = lengths.new_empty(batch, 2 * n, 3, dtype=torch.int32)
    choices, codes = (lengths.new_empty(batch, k, size, dtype=torch.int64) for size in (n, 1))
    with device_of(spans):
        launcher(gpu_kbest.kbest, (batch,))(
            *chart.inside, *chart.words, root.contiguous(), rules.contiguous(), batch // len(rules),
            batch // len(root), chart.lengths, queue, choices, torch.empty_like(scores), codes, events, scores, n,
            s, p, k, B=LEFT, C=RIGHT, S=block(k - 1),
        )  # fmt: skip
    return events, scores.to(spans.dtype)


def max_marginals(spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each labelled span, the best score of a tree with it, shaped like ``spans``.

    Takes the time of `outside`.
    """
    ring = Maxima(spans)
    chart = _filled(ring, (spans, root, rules, emission), lengths)
    tops = ring.of(root.repeat_interleave(len(spans) // len(root), 0))
    (best,) = ring.nothing(*spans.shape)
    pass_down(ring, chart, tops, best, rules=False)
    return best.to(spans.dtype)


def sample(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Draw trees ``(batch, count, n + 1, n + 1)`` from the root down; return them and the log-partition."""
    from strukt.structures.pcfg import gpu_sample  # needs Triton

    ring = Sums(spans)
    chart = _filled(ring, (spans, root, rules, emission), lengths)
    sizes, roots = chart.sizes, ring.of(root)
    batch, n = sizes.batch, sizes.n
    log_partition = log_partitions(totals(ring, chart, roots), lengths).to(spans.dtype)
    events = lengths.new_full((batch, count, n + 1, n + 1), -1, dtype=torch.int64)
    queue = lengths.new_empty(batch, count, 2 * n, 3, dtype=torch.int32)
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count), device=spans.device)
    if count:
        with device_of(spans):
            launcher(gpu_sample.walk, (batch * count,))(
                *chart.inside, *chart.words, *roots, *chart.pairs, *chart.beside, *chart.before,
                batch // len(root), sizes.sharing, chart.lengths, seeds, queue, events, count, n, sizes.s, sizes.p,
                sizes.pairs, B=LEFT, C=RIGHT,
            )  # fmt: skip
    return events, log_partition


def _filled(ring: Sums | Maxima, scores: Scores, lengths: Tensor) -> Chart:
    """Return the filled inside chart."""
    chart = opened(ring, scores, lengths)
    fill(ring, chart)
    return chart


def _kept(memory: Tensor, spans: Tensor, chart: Chart) -> Numbers:
    """Return views of the mantissas and exponents ``(batch, cells)`` in the memory of a chart."""
    cells = math.prod(chart.sizes.chart[1:])
    mantissas, exponents = memory.contiguous().view(spans.dtype), memory.contiguous().view(torch.int32)
    return mantissas[:, :cells], exponents[:, exponents.shape[1] - cells :]
