"""Entropies and cross-entropies of grammars on GPUs, with their gradients, as derivatives along a direction.

A cross-entropy is the growth of the log-partition when each score moves by minus the other score, plus the other
log-partition; its gradient is the change of the marginals along this direction (Li and Eisner 2009). Scores are
taken relative to the highest ones, so that growth is a sum of terms that are not negative, all in float64. The CPU
computes items whose result is so far below the growth that its digits are lost, and items in which the other
grammar forbids a part that the first one allows. The indices of these items are read from the device, once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from strukt.kernels import detour, dispatch
from strukt.kernels.autograd import Scores
from strukt.kernels.gradients import group_sums
from strukt.kernels.semiring import NEG_INF
from strukt.structures.pcfg import gpu_rings
from strukt.structures.pcfg.gpu_charts import fill, word_scores
from strukt.structures.pcfg.gpu_derivative import Moving, changes, fits_in_memory, move
from strukt.structures.pcfg.gpu_duals import Duals
from strukt.structures.pcfg.gpu_layout import Numbers
from strukt.structures.pcfg.gpu_tops import log_partitions, totals
from strukt.structures.pcfg.log_space import of_items

DIGITS = 1e-8
"""The entropy, relative to the sums whose difference it is, below which the CPU computes it."""

LOGS = 100.0
"""A constant that is added to these sums, since each has rounding errors of its own."""


class CrossEntropies(NamedTuple):
    """Cross-entropies, or entropies.

    Attributes:
        moving: The chart of scores that move by minus the other scores.
        numbers: ``(batch,)``, in float64; 0 for items without trees.
        items: The indices of the items that must be computed on the CPU.
    """

    moving: Moving
    numbers: Tensor
    items: Tensor


def entropy(*arguments: Tensor) -> Tensor:
    """Return the entropies ``(batch,)``, in the time of three calls of `gpu.inside` in float64.

    The arguments are scores and lengths.
    """
    return _surprises("entropy", arguments[:4], *arguments[4:])


def surprise(*arguments: Tensor) -> Tensor:
    """Return the cross-entropies ``(batch,)``, in the time of four calls of `gpu.inside` in float64.

    The arguments are scores, the other scores, and lengths.
    """
    return _surprises("surprise", arguments[:8], *arguments[8:])


def entropy_gradient(*arguments: Tensor) -> Scores:
    """Return the gradient of entropies times factors, in the shapes of the scores; time as `gpu.derivative`.

    The arguments are scores, lengths and factors.
    """
    return _gradient("entropy_gradient", arguments[:4], *arguments[4:])


def surprise_gradient(*arguments: Tensor) -> Scores:
    """Return the gradient of cross-entropies times factors with respect to the first scores.

    The arguments are scores, the other scores, lengths and factors.
    """
    return _gradient("surprise_gradient", arguments[:8], *arguments[8:])


def _surprises(name: str, scores: Scores, lengths: Tensor) -> Tensor:
    """Return the cross-entropies to the other scores, those from the fifth on, or the entropies without these.

    ``name`` is that of the function of the CPU backend with the same result.
    """
    if not fits_in_memory(scores[:4], lengths):
        return _on_cpu(name, *scores, lengths)  # type: ignore[no-any-return]
    _, result, items = _cross_entropies(scores, lengths)
    if len(items):
        result[items] = _on_cpu(name, *of_items(items, scores), lengths[items]).double()
    return result.to(scores[0].dtype)


def _gradient(name: str, scores: Scores, lengths: Tensor, factors: Tensor) -> Scores:
    """Return the gradient of `_surprises` times ``factors (batch,)``, for the first four scores.

    ``name`` is that of the function of the CPU backend with the same result.
    """
    if not fits_in_memory(scores[:4], lengths):
        return _on_cpu(name, *scores, lengths, factors)  # type: ignore[no-any-return]
    moving, _, items = _cross_entropies(scores, lengths)
    *grads, words = changes(moving, factors.double().index_fill(0, items, 0.0))
    grads.append(group_sums(words, len(scores[3])))
    if len(items):
        parts = _on_cpu(name, *of_items(items, scores), lengths[items], factors[items])
        for grad, part in zip(grads, parts, strict=True):
            groups = items * len(grad) // len(lengths)
            grad.index_put_((groups[: len(part)],), part.double(), accumulate=True)
    return tuple(grad.to(scores[0].dtype) for grad in grads)


def _on_cpu(name: str, *arguments: Tensor) -> Any:
    """Call a function of the CPU backend; the result is on the device of the arguments."""
    return detour.on_cpu(getattr(dispatch.kernels(__package__ or "", "cpu"), name), *arguments)


def _cross_entropies(scores: Scores, lengths: Tensor) -> CrossEntropies:
    """Compute the cross-entropies to the other scores, those from the fifth on, or the entropies without these."""
    mine = relative(scores[:4], lengths)
    theirs = relative(scores[4:], lengths) if scores[4:] else mine
    directions = tuple(torch.where(score > NEG_INF, -score, 0.0) for score in theirs)
    moving = move(Duals(mine[3]), mine, directions, lengths)
    total = _totals(theirs, lengths) if scores[4:] else moving.total
    trees, growth = moving.total[0] != 0.0, moving.growth
    numbers = torch.where(trees, growth + log_partitions(total, lengths), 0.0)
    exact = (numbers >= DIGITS * (LOGS + growth)) & ~_forbidding(mine, theirs)
    return CrossEntropies(moving, numbers, (trees & ~exact).nonzero().squeeze(-1))


def relative(scores: Scores, lengths: Tensor) -> Scores:
    """Return the same distribution, with scores in float64 of at most 0.

    The highest score of a root, of a rule, of a span of two or more words in the item, and of each word is
    subtracted; every tree has the same number of each. The last tensor is ``(batch, n, p)``: words, also as spans.
    """
    spans, root, rules, emission = scores
    s, ends = root.shape[1], torch.arange(spans.shape[1], device=lengths.device)
    on = (ends - ends[:, None] > 1) & (ends <= lengths[:, None, None])
    on = on[..., None] & (torch.arange(spans.shape[3], device=lengths.device) < s)
    spans = _below(spans.double().masked_fill(~on, NEG_INF), 1).masked_fill(~on, 0.0)
    words = word_scores(scores[0], emission, lengths, s, NEG_INF)
    return spans, _below(root.double(), 1), _below(rules.double(), 1), _below(words, 2)


def _below(scores: Tensor, axis: int) -> Tensor:
    """Return scores minus the highest one on an axis and all later axes; 0 is subtracted if all are -inf."""
    top = scores.flatten(axis).amax(-1)
    top = torch.where(top > NEG_INF, top, 0.0)
    return scores - top.reshape(*top.shape, *(1,) * (scores.dim() - axis))


def _forbidding(scores: Scores, other: Scores) -> Tensor:
    """Return a mask ``(batch,)`` of the items in which the other scores forbid a part that these allow."""
    result = torch.zeros_like(scores[0][:, 0, 0, 0], dtype=torch.bool)
    for score, theirs in zip(scores, other, strict=True):
        each = ((theirs == NEG_INF) & (score > NEG_INF)).flatten(1).any(1)
        result |= each.repeat_interleave(len(result) // len(each))
    return result


def _totals(scores: Scores, lengths: Tensor) -> Numbers:
    """Return the totals of all items, without derivatives."""
    ring = gpu_rings.Sums(scores[3])
    chart = gpu_rings.opened(ring, scores, lengths)
    fill(ring, chart)
    return totals(ring, chart, ring.of(scores[1]))
