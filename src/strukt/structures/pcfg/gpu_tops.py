"""The totals of items of a grammar on GPUs, and the derivatives with which an outside pass begins and ends."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.gradients import group_sums
from strukt.kernels.semiring import NEG_INF
from strukt.structures.pcfg.gpu_charts import Chart, Ring
from strukt.structures.pcfg.gpu_layout import Matrices, Numbers, Product


def totals(ring: Ring, chart: Chart, roots: Numbers) -> Numbers:
    """Return the totals of items ``(batch,)``, from the numbers of root scores; 0 for items without words."""
    batch, s, groups = chart.sizes.batch, chart.sizes.s, len(roots[0])
    items = torch.arange(batch, device=chart.lengths.device)
    whole = tuple(numbers[items, 0, chart.lengths] for numbers in chart.inside)
    result, sharing = ring.nothing(batch), batch // groups
    labels, out = Matrices(whole, sharing * s, s, 0, 0, 1), Matrices(result, sharing, 1, 0, 0, 0)
    ring.multiply(Product(labels, Matrices(roots, s, 0, 0, 0, 1), out, (groups, sharing), (1, 1, s)))
    return result


def log_partitions(total: Numbers, lengths: Tensor) -> Tensor:
    """Return the logs of totals, in float64; those of items without words are 0."""
    mantissas, exponents = total[:2]
    logs = mantissas.double().log() + math.log(2.0) * _bits_of_unit(mantissas) * exponents.double()
    logs = torch.where(mantissas == 0.0, NEG_INF, logs)
    return torch.where(lengths == 0, 0.0, logs)


def ratios(numbers: Numbers, bases: Numbers) -> Tensor:
    """Return ``numbers / bases`` as plain floats in float64; 0 where the base is 0."""
    (mantissas, exponents), (below, powers) = numbers, bases
    some = (mantissas != 0.0) & (below != 0.0)
    shares = torch.where(some, mantissas.double() / torch.where(some, below, 1.0).double(), 0.0)
    units = torch.where(some, exponents - powers, 0).double()
    return shares * (units * _bits_of_unit(mantissas)).exp2()


def _bits_of_unit(mantissas: Tensor) -> int:
    """Return the number b for which one unit of an exponent is a factor of 2^b."""
    return 32 if mantissas.dtype == torch.float32 else 256


def slopes_of_tops(ring: Ring, chart: Chart, total: Numbers, roots: Numbers, weights: Tensor) -> Numbers:
    """Return derivatives of weighted log-partitions with respect to the numbers of whole items: ``(batch, s)``.

    They are the numbers of ``roots`` divided by the totals, times ``weights (batch,)``. For dual numbers, the
    moves of ``roots`` must be relative to the growth of the totals.
    """
    mantissas, exponents = total[:2]
    some = mantissas != 0.0
    factors = torch.where(some, weights / torch.where(some, mantissas, 1.0), 0.0)
    batch, s, groups = chart.sizes.batch, chart.sizes.s, len(roots[0])
    result, sharing = ring.nothing(batch, s), batch // groups
    constant = factors, -exponents, *ring.nothing(batch)[2:]
    numbers, out = Matrices(constant, sharing, 1, 0, 0, 0), Matrices(result, sharing * s, s, 0, 0, 1)
    ring.multiply(Product(numbers, Matrices(roots, s, 0, 0, 1, 0), out, (groups, sharing), (1, s, 1)))
    return result


def by_scores(scores: Scores, lengths: Tensor, spans: Tensor, rules: Tensor) -> Scores:
    """Return the gradients of all scores, from those of spans (including single words) and of rules."""
    _, root, _, emission = scores
    s, items = root.shape[1], torch.arange(len(lengths), device=lengths.device)
    words = spans.diagonal(1, 1, 2)[:, s:].mT
    tops = spans[items, 0, lengths, :s]
    return spans, group_sums(tops, len(root)), rules, group_sums(words, len(emission))
