"""Entropies and cross-entropies of grammars, and derivatives of these and of marginals, in probability space.

All are derivatives along a direction of the scores. An entropy is the growth of the log-partition when each score
moves by minus the log of its weight (`cpu_inside_derivative`), and its gradient the change of the marginals along
the same direction (`cpu_outside_derivative`): the covariance of each part with the surprise of the tree (Li and
Eisner 2009). Growth is a difference of logs, accurate to a small multiple of their rounding error; an item whose
entropy is not much larger goes through the reference, like the items in log space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import Scores
from strukt.kernels.gradients import differentiated, outside_derivative, owned, pull_backs
from strukt.kernels.jit import over_batch
from strukt.kernels.memory import empty, zeros
from strukt.structures.pcfg import cpu_inside_derivative, cpu_outside_derivative
from strukt.structures.pcfg.cpu_charts import Charts, arrays_of, fill, threads_for, underflowed_items
from strukt.structures.pcfg.cpu_gradients import gradients, rules_of, zero_expected
from strukt.structures.pcfg.cpu_inside_derivative import Moves
from strukt.structures.pcfg.cpu_weights import Grammar, arranged, weigh
from strukt.structures.pcfg.log_space import add_items, of_items
from strukt.structures.pcfg.reference import REFERENCE

DIGITS = 1e-8
"""The entropy, relative to the logs whose difference it is, below which the reference computes it."""

LOGS = 100.0
"""A bound on the logs of scaled weights; growth is a difference of logs up to this plus the chart's largest."""


class Direction(NamedTuple):
    """A direction of the scores of a batch, and the inputs to compute the growth along it.

    Attributes:
        scores: The scores of the batch.
        lengths: ``(batch,)``, 0 for items that underflow, which the reference computes.
        grammar: The weights of root and rules.
        chart: The inside chart.
        moves: The direction of the scores.
        least: ``(batch,)``, the growth below which the reference computes an item; it also computes items whose
            growth is NaN.
    """

    scores: Scores
    lengths: Tensor
    grammar: Grammar
    chart: Array
    moves: Moves
    least: Array


def entropy(spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor) -> Tensor:
    """Return the entropy ``(batch,)`` in nats, in the time of four calls of `cpu.inside`."""
    return _expected_surprise((spans, root, rules, emission), lengths)


def surprise(*arguments: Tensor) -> Tensor:
    """Return the cross-entropies ``(batch,)``, in the time of five calls of `cpu.inside`.

    The arguments are scores, the other scores, and lengths.
    """
    return _expected_surprise(arguments[:8], *arguments[8:])


def entropy_gradient(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor, factors: Tensor
) -> Scores:
    """Return the gradient of entropies times factors, in the shapes of the scores.

    It takes the time of three calls of `cpu.outside`.
    """
    return _surprise_gradient((spans, root, rules, emission), lengths, factors)


def surprise_gradient(*arguments: Tensor) -> Scores:
    """Return the gradient of cross-entropies times factors with respect to the first scores.

    The arguments are scores, the other scores, lengths and factors.
    """
    return _surprise_gradient(arguments[:8], *arguments[8:])


def derivative(*arguments: Tensor) -> Scores:
    """Return gradients of <weighted marginals, directions> with respect to the scores and the weights.

    The arguments are scores, lengths, weights, a direction for each of the scores, and the chart. The time is that
    of `entropy_gradient`.
    """
    scores, toward, chart = arguments[:4], arguments[6:10], arguments[10]
    lengths, weights = arguments[4:6]
    if not chart.numel():
        return (*(zeros(score) for score in scores), zeros(weights))
    underflowed = underflowed_items(chart)
    safe = lengths.index_fill(0, underflowed, 0)
    grammar, _ = weigh(len(chart), *arrays_of(scores[1], scores[2]))
    root, rules = arrays_of(toward[1], toward[2])
    moves = _moves(grammar, root, rules, chart.shape, scores[3].shape[2])
    arrays = arrays_of(toward[0], toward[3], safe)
    over_batch(cpu_inside_derivative.directions, threads_for(scores), *arrays, moves)
    least = np.full(len(chart), -np.inf)
    least[underflowed.numpy()] = np.inf
    grads, growth, items = _changes(Direction(scores, safe, grammar, chart.numpy(), moves, least), weights)
    if len(items):

        def through_reference(lengths: Tensor, weights: Tensor, *both: Tensor) -> Scores:
            return outside_derivative(REFERENCE.log_partition, both[:4], [lengths], weights, both[4:])

        chosen = (lengths[items], weights[items], *of_items(items, scores), *of_items(items, toward))
        *parts, growth[items] = owned(differentiated(through_reference, chosen))
        add_items(grads, tuple(parts), items)
    return (*grads, growth)


def _expected_surprise(scores: Scores, lengths: Tensor) -> Tensor:
    """Return the cross-entropies to the other scores, those from the fifth on, or the entropies without these."""
    if scores[0].shape[1] < 2 or not len(lengths):
        return zeros(lengths, scores[0].dtype)
    direction, ends = _surprise_direction(scores, lengths)
    growth = np.empty(len(lengths))
    arrays = arrays_of(scores[0], scores[3], direction.lengths)
    inputs = (direction.grammar, direction.moves, *arrays, direction.chart)
    over_batch(cpu_inside_derivative.grow, threads_for(scores), *inputs, growth)
    result = torch.from_numpy(growth + ends)
    items = torch.from_numpy((~(growth >= direction.least)).nonzero()[0])
    if len(items):
        with torch.no_grad():
            result[items] = _through_reference(of_items(items, scores), lengths[items]).double()
    return result.to(scores[0].dtype)


def _surprise_gradient(scores: Scores, lengths: Tensor, factors: Tensor) -> Scores:
    """Return the gradient of `_expected_surprise` times ``factors (batch,)``, for the first four scores."""
    if scores[0].shape[1] < 2 or not len(lengths):
        return tuple(zeros(score) for score in scores[:4])
    direction, _ = _surprise_direction(scores, lengths)
    _stop_infinite(direction.moves)
    grads, _, items = _changes(direction, factors)
    if len(items):
        chosen = of_items(items, scores)

        def number(*inputs: Tensor) -> Tensor:
            return _through_reference((*inputs[:4], *chosen[4:]), inputs[4])

        (parts,) = pull_backs(number, chosen[:4], [lengths[items]], [factors[items]])
        add_items(grads, parts, items)
    return grads


def _through_reference(scores: Scores, lengths: Tensor) -> Tensor:
    """Return the result of `_expected_surprise`, computed by the reference."""
    if len(scores) == 4:
        return REFERENCE.entropy(*scores, lengths)
    return REFERENCE.cross_entropy(scores[:4], scores[4:], lengths)


def _surprise_direction(scores: Scores, lengths: Tensor) -> tuple[Direction, Array]:
    """Return a direction of the scores, and the log-partitions ``(batch,)`` of the other scores once scaled.

    Along the direction, the derivative of the log-partition is the cross-entropy minus this other log-partition.
    Both are 0 for items without trees.
    """
    mine, theirs = scores[:4], scores[-4:]
    charts = fill(mine, lengths)
    others = fill(theirs, lengths) if len(scores) > 4 else charts
    underflowed = charts.underflowed | others.underflowed
    safe = lengths.masked_fill(torch.from_numpy(underflowed), 0)
    spans, root, rules, emission, numbers = arrays_of(*theirs, safe)
    root, rules = _below(root, others.grammar.root_tops), _below(rules, others.grammar.rule_tops)
    moves = _moves(charts.grammar, root, rules, charts.chart.shape, emission.shape[2])
    largest = np.zeros(len(lengths))
    inputs = (spans, emission, numbers, others.chart, moves, largest)
    over_batch(cpu_inside_derivative.surprises, threads_for(mine), *inputs)
    ends = np.where(charts.log_partition > -np.inf, _logs_of_totals(others, numbers), 0.0)
    least = DIGITS * (LOGS + largest) - ends
    least[(charts.log_partition == -np.inf) | (numbers == 0)] = -np.inf
    least[underflowed] = np.inf
    return Direction(mine, safe, charts.grammar, charts.chart, moves, least), ends


def _stop_infinite(moves: Moves) -> None:
    """Replace infinite and undefined moves by 0, in place.

    They are those of parts that only the other distribution forbids. No tree has such a part: an item whose
    cross-entropy is infinite has the length 0 here.
    """
    for array in (*moves.grammar, moves.spans, moves.words):
        np.nan_to_num(array, copy=False, nan=0.0, posinf=0.0, neginf=0.0)


def _below(scores: Array, tops: Array) -> Array:
    """Return the largest score of each group minus each score."""
    some = np.where(tops > -np.inf, tops, 0.0)  # no NaN for a group of only -inf
    return some.reshape(-1, *(1,) * (scores.ndim - 1)) - scores


def _logs_of_totals(charts: Charts, lengths: Array) -> Array:
    """Return the logs of the summed scaled weights of all trees, ``(batch,)``; 0 where there is none."""
    root, batch = charts.grammar.root, len(lengths)
    whole = charts.chart[np.arange(batch), 0, lengths, : root.shape[1]]
    totals = np.einsum("gs,gis->gi", root, whole.reshape(len(root), -1, root.shape[1])).reshape(-1)
    trees = (lengths > 1) & (charts.log_partition > -np.inf)
    logs: Array = np.log(totals, out=np.zeros(batch), where=trees)
    return logs


def _moves(grammar: Grammar, root: Array, rules: Array, shape: tuple[int, ...], preterminals: int) -> Moves:
    """Return the moves of root and rules, from their directions, and uninitialised moves of spans and words.

    Weights of 0 do not move.
    """
    batch, n, size, _ = shape
    roots, tables = (_times(*pair) for pair in ((grammar.root, root), (grammar.rules, rules)))
    moved = arranged(roots, np.zeros(len(roots)), tables, np.zeros(len(tables)))
    return Moves(
        moved, empty((batch, n, size, roots.shape[1])), empty((batch, n, preterminals)), empty((batch, n, size))
    )


def _times(weights: Array, direction: Array) -> Array:
    """Return the elementwise product; 0 where the weight is 0, even if the direction is infinite."""
    products: Array = np.multiply(weights, direction, out=np.zeros(weights.shape), where=weights > 0.0)
    return products


def _changes(direction: Direction, weights: Tensor) -> tuple[Scores, Tensor, Tensor]:
    """Return the derivatives of the weighted marginals along a direction, and of the log-partitions ``(batch,)``.

    The marginals of rules, root and emission are the expected numbers of their uses. Also return the indices of
    the items that are left to the reference: their derivatives are 0, and NaN for the log-partition.
    """
    spans, _, rules, emission = direction.scores
    threads = threads_for(direction.scores)
    slots = threads if len(rules) < len(spans) else 1
    expected, moves = (zero_expected(direction.grammar, slots) for _ in range(2))
    changes, growth = zeros(spans, torch.float64), np.zeros(len(spans))
    over_batch(
        cpu_outside_derivative.change, threads, direction.grammar, direction.moves,
        *arrays_of(spans, emission, direction.lengths), direction.chart, *arrays_of(weights), direction.least,
        growth, expected, moves, changes.numpy(),
    )  # fmt: skip
    table = rules_of(direction.grammar, moves)
    table += rules_of(direction.moves.grammar, expected)
    items = torch.from_numpy(np.isnan(growth).nonzero()[0])
    grads = gradients(direction.scores, direction.lengths, changes, table)
    return grads, torch.from_numpy(growth).to(weights.dtype), items
