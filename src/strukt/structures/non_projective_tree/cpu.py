"""Fused Numba kernels of the Matrix-Tree theorem: elimination without subtraction, in probability space.

The elimination is that of the reference, with weights normalised over the heads of each word, so that anything
that underflows is below 1e-308 of numbers whose product, the total, must exceed `SMALLEST`. An item with a smaller
total, or with a word that reaches no other remaining word, is recomputed in log space. The single root needs no
orders here: to first order in the root arcs, every pivot but the last excludes them.

The chart holds, for an item of length n in its first n (n + 1) entries, the factors of the elimination: row k
holds the shares of word k's heads among the words before it and the root, column k + 1 the weights of k as head of
the words before it, and the entry of a word as its own head, which no tree uses, holds its pivot. Word 0 is
swapped with the word most likely to be the root, so that a known root is never eliminated early.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.elementary import exp
from strukt.kernels.gradients import differentiated, outside_derivative, owned
from strukt.kernels.jit import inner, kernel, leading, scratch
from strukt.kernels.memory import filled, zeros
from strukt.kernels.sparsemap.found import Found, Settings, Start
from strukt.structures.non_projective_tree import (
    cpu_calls,
    cpu_matrix_tree_log,
    cpu_max_marginals,
    cpu_sparsemap,
    cpu_surprise,
    cpu_wilson,
)
from strukt.structures.non_projective_tree.cpu_derivative import eliminate_change, gradient_change
from strukt.structures.non_projective_tree.reference import REFERENCE

Array = npt.NDArray[Any]

SMALLEST = 1e-100
"""The total below which an item is recomputed in log space."""

DECLINED = -1.0
"""The pivot of word 0 that marks charts of items computed in log space."""


def chart_shape(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[int, int, int]:
    """Return the shape of the chart, ``(batch, n, n + 1)``, in float64."""
    batch, n, heads = arcs.shape
    return batch, n, heads


def inside(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return log-partition ``(batch,)`` and chart; time O(n^3) an item, items in parallel."""
    return cpu_calls.inside(_inside, chart_shape(arcs, lengths, single_root), arcs, lengths, single_root)


def outside(arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor) -> Tensor:
    """Return the probability of each arc, times the weight of its item, in the shape of ``arcs``; time O(n^3)."""
    return cpu_calls.outside(_outside, arcs, lengths, single_root, weights, chart)


def derivative(
    arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, direction: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return gradients of <`outside`, direction> in the scores and in the weights; time O(n^3) an item.

    The reference computes items in log space.
    """
    grads, weights_grad = zeros(arcs), zeros(weights)
    given = (value.contiguous().numpy() for value in (weights, direction, chart))
    cpu_calls.run(_derivative, arcs, lengths, single_root, *given, grads.numpy(), weights_grad.numpy())
    left = (lengths > 0) & (chart.flatten(1)[:, 1:2] == DECLINED).any(1)
    if left.any():
        tensors = [value[left] for value in (arcs, lengths, weights, direction)]
        grads[left], weights_grad[left] = owned(
            differentiated(_reference_derivative, (single_root, *tensors))
        )
    return grads, weights_grad


def _reference_derivative(
    single_root: bool, arcs: Tensor, lengths: Tensor, weights: Tensor, direction: Tensor
) -> tuple[Tensor, ...]:
    rest = (lengths, single_root)
    return outside_derivative(REFERENCE.log_partition, (arcs,), rest, weights, (direction,))


def sample(arcs: Tensor, lengths: Tensor, single_root: bool, count: int) -> tuple[Tensor, Tensor]:
    """Return heads ``(batch, count, n)`` and the log-partition; `cpu_wilson` describes the algorithm."""
    log_partition, chart = inside(arcs, lengths, single_root)
    ones = torch.ones_like(log_partition)
    roots = outside(arcs, lengths, single_root, ones, chart)[..., 0] if single_root else zeros(arcs[..., 0])
    feasible = (log_partition > -torch.inf).numpy()
    arrays = (roots.double().contiguous().numpy(), feasible)
    heads = cpu_calls.sample(cpu_wilson.draw, arcs, lengths, single_root, count, *arrays)
    return heads, log_partition


def entropy(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the entropy ``(batch,)`` in nats; time O(n^3) an item; `cpu_surprise` has the formula."""
    return cpu_calls.surprises(cpu_surprise.surprises, arcs, None, lengths, single_root)


def surprise(arcs: Tensor, others: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the cross-entropy -E[log q], q of the other scores: ``(batch,)`` in nats."""
    return cpu_calls.surprises(cpu_surprise.surprises, arcs, others, lengths, single_root)


def entropy_gradient(arcs: Tensor, lengths: Tensor, single_root: bool, factors: Tensor) -> Tensor:
    """Return the gradient of the entropies times factors ``(batch,)``, in the shape of ``arcs``."""
    return cpu_calls.surprise_gradients(cpu_surprise.gradients, arcs, None, lengths, single_root, factors)


def surprise_gradient(
    arcs: Tensor, others: Tensor, lengths: Tensor, single_root: bool, factors: Tensor
) -> Tensor:
    """Return the gradient in the first scores of the cross-entropies times factors ``(batch,)``."""
    return cpu_calls.surprise_gradients(cpu_surprise.gradients, arcs, others, lengths, single_root, factors)


def max_marginals(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the best score of a tree with each arc, in the shape of ``arcs``; time O(n^3) an item."""
    best = filled(tuple(arcs.shape), -np.inf, arcs.dtype)
    cpu_calls.run(cpu_max_marginals.fill, arcs, lengths, single_root, best.numpy())
    return best


def sparsemap(arcs: Tensor, lengths: Tensor, single_root: bool, begin: Start, settings: Settings) -> Found:
    """Return the trees of SparseMAP; each call of the oracle takes O(n^2)."""
    return cpu_calls.sparsemap(cpu_sparsemap.solve, arcs, lengths, single_root, begin, settings)


@inner
def _load(arcs: Array, b: int, single_root: bool, place: Array, weights: Array) -> float:
    """Write normalised weights of item b, words permuted; return the sum of the shifts, NaN to decline.

    With a single root each row is normalised over the words only, and the root's column over all words.
    """
    n = weights.shape[0]
    first = 1 if single_root else 0
    shift = 0.0
    root_top = -np.inf
    for m in range(n):
        for h in range(n + 1):
            weights[m, h] = arcs[b, m, h]
        weights[m, m + 1] = -np.inf
        top = 0.0 if n == 1 and single_root else -np.inf
        for h in range(first, n + 1):
            top = max(top, weights[m, h])
        if top == -np.inf:
            return np.nan
        mass = 1.0 if n == 1 and single_root else 0.0
        for h in range(first, n + 1):
            weights[m, h] = exp(weights[m, h] - top)
            mass += weights[m, h]
        for h in range(first, n + 1):
            weights[m, h] /= mass
        base = top + np.log(mass)
        shift += base
        root_top = max(root_top, arcs[b, m, 0] - base)
        if single_root:
            weights[m, 0] = arcs[b, m, 0] - base
    if single_root and root_top == -np.inf:
        return np.nan
    likeliest = 0
    for m in range(n):
        place[m] = m
        if weights[m, 0] > weights[likeliest, 0]:
            likeliest = m
    if single_root:
        for m in range(n):
            weights[m, 0] = exp(weights[m, 0] - root_top)
    place[0], place[likeliest] = likeliest, 0
    if likeliest > 0:
        for h in range(n + 1):
            weights[0, h], weights[likeliest, h] = weights[likeliest, h], weights[0, h]
        for m in range(n):
            weights[m, 1], weights[m, likeliest + 1] = weights[m, likeliest + 1], weights[m, 1]
    return shift + root_top if single_root else shift


@inner
def _eliminate(weights: Array, single_root: bool) -> float:
    """Eliminate all words in place; return the log of the total, NaN to decline."""
    n = weights.shape[0]
    total = 1.0
    log_total = 0.0
    for k in range(n - 1, -1, -1):
        pivot = 0.0
        for j in range(1, k + 1):
            pivot += weights[k, j]
        if k == 0 or not single_root:
            pivot += weights[k, 0]
        total *= pivot
        if not total > SMALLEST:
            return np.nan
        log_total += np.log(pivot)
        for j in range(k + 1):
            weights[k, j] /= pivot
        weights[k, k + 1] = pivot
        for i in range(k):
            into = weights[i, k + 1]
            own = weights[i, i + 1]
            for j in range(k + 1):
                weights[i, j] += into * weights[k, j]
            weights[i, i + 1] = own
    return log_total


@kernel
def _inside(
    arcs: Array, lengths: Array, single_root: bool, chart: Array, log_partition: Array, start: int, step: int
) -> None:
    place = np.empty(arcs.shape[1], np.int64)
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        weights = leading(chart[b], (n, n + 1))
        total = _load(arcs, b, single_root, place, weights)
        if not np.isnan(total):
            total += _eliminate(weights, single_root)
        if np.isnan(total):
            weights[0, 1] = DECLINED
            total = cpu_matrix_tree_log.log_total(arcs[b, :n, : n + 1], single_root)
        log_partition[b] = total


@inner
def _gradient(factors: Array, single_root: bool, out: Array) -> None:
    """Write the derivative of the log-total in each weight, from the factors that `_eliminate` left."""
    n = factors.shape[0]
    shared = np.empty(n + 1)
    out[:, :] = 0.0
    for k in range(n):
        pivot = factors[k, k + 1]
        shared[:] = 0.0
        whole = min((k + 8) // 8 * 8, n + 1)  # columns after k + 1 are multiplied by zeros
        for i in range(k):
            into = factors[i, k + 1]
            total = 0.0
            for j in range(whole):
                shared[j] += into * out[i, j]
                total += out[i, j] * factors[k, j]
            out[i, k + 1] = total
        through = 0.0
        for j in range(k + 1):
            through += shared[j] * factors[k, j]
        for j in range(k + 1):
            in_pivot = j > 0 or k == 0 or not single_root
            out[k, j] = (shared[j] + (1.0 - through if in_pivot else 0.0)) / pivot
        out[k, k + 1] = 0.0


@kernel
def _outside(
    arcs: Array, lengths: Array, single_root: bool, weights: Array, chart: Array, marginals: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    longest = arcs.shape[1]
    place = np.empty(longest, np.int64)
    loaded, slopes = scratch(longest, longest + 1), scratch(longest, longest + 1)
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        factors = leading(chart[b], (n, n + 1))
        given, slope = leading(loaded, (n, n + 1)), leading(slopes, (n, n + 1))
        if factors[0, 1] == DECLINED:
            cpu_matrix_tree_log.marginals(arcs[b, :n, : n + 1], single_root, weights[b], marginals[b, :n, : n + 1])
            continue
        _load(arcs, b, single_root, place, given)
        _gradient(factors, single_root, slope)
        for k in range(n):
            m = place[k]
            marginals[b, m, 0] = weights[b] * max(slope[k, 0] * given[k, 0], 0.0)
            for j in range(n):
                marginals[b, m, place[j] + 1] = weights[b] * max(slope[k, j + 1] * given[k, j + 1], 0.0)


@kernel
def _derivative(
    arcs: Array, lengths: Array, single_root: bool, weights: Array, direction: Array, chart: Array,
    grads: Array, weights_grad: Array, start: int, step: int,
) -> None:  # fmt: skip
    longest = arcs.shape[1]
    place, shared = np.empty(longest, np.int64), np.empty((2, longest + 1))
    whole = np.empty((4, longest, longest + 1))
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        factors = leading(chart[b], (n, n + 1))
        if n == 0 or factors[0, 1] == DECLINED:
            continue
        room = leading(whole, (4, n, n + 1))
        given, change, slope, slope_change = room[0], room[1], room[2], room[3]
        _load(arcs, b, single_root, place, given)
        for k in range(n):
            for j in range(n + 1):
                h = place[j - 1] + 1 if j > 0 else 0
                # If a weight is 0, its direction is arbitrary.
                change[k, j] = given[k, j] * direction[b, place[k], h] if given[k, j] > 0.0 else 0.0
        own = change.copy()
        weights_grad[b] = eliminate_change(factors, single_root, change)
        gradient_change(factors, change, single_root, slope, slope_change, shared)
        for k in range(n):
            for j in range(n + 1):
                h = place[j - 1] + 1 if j > 0 else 0
                result = own[k, j] * slope[k, j] + given[k, j] * slope_change[k, j]
                grads[b, place[k], h] = weights[b] * result
