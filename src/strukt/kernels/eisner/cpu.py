"""Fused Numba kernels of Eisner's recursion: inside, outside, best tree, samples.

One set of loops serves three semirings, named by the constants of `cpu_semiring`. Sums are taken in
probability space: each word's scores are first normalised to probabilities over its heads, so that no value
in the chart, inside or outside, exceeds 1, nothing overflows, and what underflows is below 1e-308 of a total
that must itself exceed `SMALLEST` of `cpu_inside`. The total of a long sentence falls below this, because few
choices of heads make a tree: it runs again with all weights times a factor, which keeps half-trees of all
widths near 1. If even then some value of the chart is so far from 1 that a product of two could underflow, it
runs in log space.

The chart holds three matrices over pairs of words, for an item of length n in its first 3 n^2 numbers.
``right[i, j]`` and ``left[i, j]`` are half-trees over the words i..j headed by their first and last word, stored
on both sides of the diagonal so that both ways of reading are contiguous; ``open[h, m]`` is the span between h
and m with the arc from h to m. The diagonal of ``right`` and ``left`` holds the semiring's one, which tells the
space the item is in, ``open[0, 0]`` the factor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels import arcs as on_arcs
from strukt.kernels.cpu_search import make_search
from strukt.kernels.cpu_semiring import LOG, MAX, PROBABILITY, dot, one, push, zero
from strukt.kernels.eisner import cpu_kbest, cpu_sample, cpu_sparsemap, cpu_tree
from strukt.kernels.eisner.cpu_inside import factor_of, tree_total
from strukt.kernels.eisner.cpu_weights import load
from strukt.kernels.jit import inner, kernel, leading
from strukt.kernels.memory import no_events
from strukt.kernels.sparsemap.found import Found, Settings, Start

Array = npt.NDArray[Any]


def chart_shape(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[int, int, int, int]:
    """``(batch, 3, n, n)``; charts are of float64."""
    batch, n, _ = arcs.shape
    return batch, 3, n, n


def inside(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and chart; time O(n^3) an item, items in parallel."""
    return on_arcs.inside(_inside, chart_shape(arcs, lengths, single_root), arcs, lengths, single_root)


def outside(arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor) -> Tensor:
    """The probability of each arc times the weight of its item: the shape of ``arcs``."""
    return on_arcs.outside(_outside, arcs, lengths, single_root, weights, chart)


def best(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """The heads of the best tree ``(batch, n)`` and its score; time O(n^3)."""
    heads, scores = kbest(arcs, lengths, single_root, 1)
    return heads[:, 0], scores[:, 0]


def kbest(arcs: Tensor, lengths: Tensor, single_root: bool, k: int) -> tuple[Tensor, Tensor]:
    """The heads of the k best trees ``(batch, k, n)`` and their scores; time O(n^3 + k n^2)."""
    batch, n, _ = arcs.shape
    heads = no_events(batch, k, n)
    scores = torch.full((batch, k), -torch.inf, dtype=torch.float64)
    scores[:, 0] = 0.0
    on_arcs.run(_kbest, arcs, lengths, single_root, heads.numpy(), scores.numpy())
    return heads, scores.to(arcs.dtype)


def sample(arcs: Tensor, lengths: Tensor, single_root: bool, count: int) -> tuple[Tensor, Tensor]:
    """Heads ``(batch, count, n)`` drawn from the root downwards, and the log-partition.

    A sample takes O(n^2).
    """
    log_partition, chart = inside(arcs, lengths, single_root)
    heads = on_arcs.sample(_sample, arcs, lengths, single_root, count, chart.numpy())
    return heads, log_partition


def sparsemap(arcs: Tensor, lengths: Tensor, single_root: bool, begin: Start, settings: Settings) -> Found:
    """The trees of SparseMAP; each best tree takes O(n^3)."""
    return on_arcs.sparsemap(cpu_sparsemap.solve, arcs, lengths, single_root, begin, settings)


@kernel
def _inside(
    arcs: Array, lengths: Array, single_root: bool, chart: Array, log_partition: Array, start: int, step: int
) -> None:
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        spans = leading(chart[b], (3, n, n))
        total = tree_total(PROBABILITY, arcs, b, single_root, 1.0, spans)
        if np.isnan(total):
            total = tree_total(PROBABILITY, arcs, b, single_root, factor_of(spans), spans)
            if np.isnan(total):
                total = tree_total(LOG, arcs, b, single_root, 1.0, spans)
        log_partition[b] = total


@kernel
def _outside(
    arcs: Array, lengths: Array, single_root: bool, weights: Array, chart: Array, marginals: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    longest = arcs.shape[1]
    room = np.empty((3, longest, longest))
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        spans = leading(chart[b], (3, n, n))
        semiring = PROBABILITY if spans[0, 0, 0] == one(PROBABILITY) else LOG
        arc_weights = np.empty((n, n + 1))
        if load(semiring, arcs, b, spans[2, 0, 0], arc_weights) == -np.inf:
            continue
        mass = leading(room, (3, n, n))
        mass[:, :, :] = 0.0
        root_mass = cpu_tree.root_outside(semiring, arc_weights, spans, single_root, mass)
        if root_mass[0, 0] < 0.0:
            continue
        _outside_spans(semiring, spans, mass)
        for m in range(n):
            marginals[b, m, 0] = weights[b] * root_mass[0, m]
            for h in range(n):
                marginals[b, m, h + 1] = weights[b] * mass[2, h, m]


@inner
def _outside_spans(semiring: int, chart: Array, mass: Array) -> None:
    """Spread the probability of each span over the ways to make it, from wide to narrow."""
    n = chart.shape[1]
    right, left, open_ = chart[0], chart[1], chart[2]
    right_mass, left_mass, open_mass = mass[0], mass[1], mass[2]
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            total = right_mass[i, j] + right_mass[j, i]
            push(semiring, total, right[i, j], open_, i, right, j, i + 1, j + 1, 0, open_mass, right_mass)
            total = left_mass[i, j] + left_mass[j, i]
            push(semiring, total, left[i, j], left, i, open_, j, i, j, 0, left_mass, open_mass)
            total = open_mass[i, j] + open_mass[j, i]
            if total > 0.0:
                joined = dot(semiring, right, i, left, j, i, j, 1)
                push(semiring, total, joined, right, i, left, j, i, j, 1, right_mass, left_mass)


@kernel
def _kbest(
    arcs: Array, lengths: Array, single_root: bool, heads: Array, scores: Array, start: int, step: int
) -> None:
    longest = arcs.shape[1]
    room = np.empty((3, longest, longest))
    search = make_search(scores.shape[1], 2 * longest)
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        spans = leading(room, (3, n, n))
        scores[b, 0] = tree_total(MAX, arcs, b, single_root, 1.0, spans)
        if scores[b, 0] > -np.inf:
            weights = np.empty((n, n + 1))
            load(MAX, arcs, b, 1.0, weights)
            best, each = scores[b, 0], heads[b, :, :n]
            cpu_kbest.find_trees(weights, spans, single_root, best, search, each, scores[b])


@kernel
def _sample(
    arcs: Array, lengths: Array, single_root: bool, chart: Array, seeds: Array, chunks: int, heads: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    batch, count, longest = heads.shape
    state, stack = np.empty(1, np.uint64), np.empty((2 * longest + 2, 3), np.int64)
    for unit in range(start, batch * chunks, step):
        b = unit // chunks
        n = lengths[b]
        if n == 0:
            continue
        spans = leading(chart[b], (3, n, n))
        semiring = PROBABILITY if spans[0, 0, 0] == one(PROBABILITY) else LOG
        weights = np.empty((n, n + 1))
        if load(semiring, arcs, b, spans[2, 0, 0], weights) == -np.inf:
            continue
        totals, attached = cpu_tree.attach_to_root(semiring, weights, spans, single_root)
        if totals[0, n] == zero(semiring):
            continue
        for k in range(unit % chunks, count, chunks):
            state[0] = seeds[b, k]
            cpu_sample.draw(semiring, spans, totals, attached, single_root, state, stack, heads[b, k, :n])
