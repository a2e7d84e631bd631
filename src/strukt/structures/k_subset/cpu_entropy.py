"""Entropies and cross-entropies of subsets, and derivatives of these and of marginals.

For subsets of 10 of 100 items (a batch of 16), the table program of `polynomial_products`, limited to sizes up to
10, takes 2 times as long for entropies and gradients of marginals, and 3 times for gradients of entropies. It
takes 5 to 50 times as long if n is new, and 0.7 times for 100 of 2,000 items.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import Scores
from strukt.kernels.gradients import group_sums, pull_backs
from strukt.kernels.jit import kernel
from strukt.kernels.memory import zeros
from strukt.structures.k_subset.cpu_choices import (
    change,
    choose,
    directions,
    grow,
    make_choices,
    make_workspace,
    surprises,
)
from strukt.structures.k_subset.cpu_run import run
from strukt.structures.k_subset.reference import REFERENCE


def entropy(scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Return the entropy ``(batch,)`` in nats.

    Time O(n k) for sizes up to k, with two logarithms for each item and each count of items before it.
    """
    growth, *_ = _surprise((scores, omitted), None, (lengths, low, high), None)
    return growth.to(scores.dtype)


def entropy_gradient(
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor, factors: Tensor
) -> Scores:
    """Return the gradient of entropies times factors ``(batch,)``, for taking items and for leaving them out.

    It takes one more pass than `entropy`, without logarithms.
    """
    _, taken, left = _surprise((scores, omitted), None, (lengths, low, high), factors)
    return taken, group_sums(left, len(omitted))


def surprise(
    scores: Tensor, omitted: Tensor, others: Tensor, others_omitted: Tensor, *constants: Tensor
) -> Tensor:
    """Return the cross-entropies -E[log q] ``(batch,)`` in nats, at the cost of `entropy`.

    The expectation is under the first two scores; q has the others. ``constants`` are lengths and sizes.
    """
    mine, theirs = (scores, omitted), (others, others_omitted)
    growth, *_ = _surprise(mine, theirs, constants, None)
    items = growth.isinf().nonzero().squeeze(-1)
    if len(items):  # perhaps a surprise too large for shares in double precision
        inputs = [value[items] for value in constants]
        with torch.no_grad():
            exact = REFERENCE.cross_entropy(_of(items, mine), _of(items, theirs), *inputs)
        growth[items] = exact.double()
    return growth.to(scores.dtype)


def surprise_gradient(
    scores: Tensor, omitted: Tensor, others: Tensor, others_omitted: Tensor, *rest: Tensor
) -> Scores:
    """Return the gradient of cross-entropies with respect to the first scores, times factors ``(batch,)``.

    ``rest`` are lengths, sizes and the factors.
    """
    mine, theirs, constants, factors = (scores, omitted), (others, others_omitted), rest[:-1], rest[-1]
    growth, taken, left = _surprise(mine, theirs, constants, factors)
    items = growth.isinf().nonzero().squeeze(-1)
    if len(items):

        def number(*inputs: Tensor) -> Tensor:
            return REFERENCE.cross_entropy(inputs[:2], _of(items, theirs), *inputs[2:])

        inputs = [value[items] for value in constants]
        ((taken[items], left[items]),) = pull_backs(number, _of(items, mine), inputs, [factors[items]])
    return taken, group_sums(left, len(omitted))


def derivative(
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor, weights: Tensor,
    direction: Tensor, omitted_direction: Tensor, chart: Tensor,
) -> Scores:  # fmt: skip
    """Return the gradients of <`outside`, directions> with respect to the scores and ``weights``.

    Time O(n k) for sizes up to k.
    """
    taken, left, growth = zeros(scores), zeros(scores), zeros(weights)
    more = (direction, omitted_direction, weights, growth, taken, left)
    run(_derivative, scores, omitted, lengths, low, high, *more)
    return taken, group_sums(left, len(omitted)), growth


def _of(items: Tensor, scores: Scores) -> Scores:
    """Return the scores of the batch items with these indices, with a copy of shared scores for each item."""
    taken, omitted = scores
    return taken[items], omitted[items * len(omitted) // len(taken)]


def _surprise(
    scores: Scores, others: Scores | None, constants: Scores, factors: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (cross-)entropies ``(batch,)``, and their gradients times factors, both ``(batch, n)``.

    The gradients are with respect to the scores of taking and of leaving out items; they are 0 if ``factors`` is
    None. If ``others`` is None, the result is the entropy. A cross-entropy is inf, and its gradients 0, if
    ``others`` may forbid a subset that the scores allow: a share that underflows looks the same.
    """
    growth, taken, left = zeros(constants[0], torch.float64), zeros(scores[0]), zeros(scores[0])
    weights = growth if factors is None else factors.double()
    options = (others is None, factors is not None)
    run(_surprises, *(*scores, *constants), *(others or scores), weights, *options, growth, taken, left)
    return growth, taken, left


@kernel
def _surprises(
    scores: Array, omitted: Array, lengths: Array, low: Array, high: Array, most: int, others: Array,
    others_omitted: Array, weights: Array, same: bool, differentiate: bool, growth: Array, taken: Array,
    left: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the cross-entropies -E[log q], ``growth (batch,)``, and their gradients times weights.

    The expectation is under ``scores`` and ``omitted``; q has ``others`` and ``others_omitted``. If ``same``,
    these are ignored, and the result is the entropy. Unless ``differentiate``, no gradients are written.

    Arrays: ``scores`` and ``others (batch, n)``, ``omitted`` and ``others_omitted (g, n)``, ``lengths``, ``low``,
    ``high`` and ``weights (batch,)``, and the gradients ``taken`` and ``left (batch, n)``.
    """
    size = scores.shape[1]
    workspace = make_workspace(size, most)
    shares, other_shares = make_choices(size, most), make_choices(size, most)
    moves, bounds, other_bounds = make_choices(size, most), np.empty(2, np.int64), np.empty(2, np.int64)
    for b in range(start, scores.shape[0], step):
        n = lengths[b]
        bounds[0], bounds[1] = low[b], high[b]
        other_bounds[0], other_bounds[1] = low[b], high[b]
        if not same and not choose(others, others_omitted, b, n, other_bounds, workspace, other_shares):
            other_shares.sizes[:] = 0.0
            other_shares.taken[:] = 0.0
            other_shares.left[:] = 0.0
        if not choose(scores, omitted, b, n, bounds, workspace, shares):
            continue
        surprises(shares if same else other_shares, n, bounds, moves)
        growth[b] = grow(shares, moves, n, bounds, workspace)
        if differentiate and growth[b] < np.inf:
            change(shares, growth[b], n, bounds, workspace, weights[b], taken[b], left[b])


@kernel
def _derivative(
    scores: Array, omitted: Array, lengths: Array, low: Array, high: Array, most: int, direction: Array,
    omitted_direction: Array, weights: Array, growth: Array, taken: Array, left: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the growth along a direction, ``growth (batch,)``, and the changes of probabilities times weights.

    Arrays: ``scores`` and ``direction (batch, n)``, ``omitted`` and ``omitted_direction (g, n)``, ``lengths``,
    ``low``, ``high`` and ``weights (batch,)``, and the changes ``taken`` and ``left (batch, n)``.
    """
    size = scores.shape[1]
    workspace, shares, moves = make_workspace(size, most), make_choices(size, most), make_choices(size, most)
    bounds = np.empty(2, np.int64)
    for b in range(start, scores.shape[0], step):
        n, shared = lengths[b], b // (scores.shape[0] // omitted.shape[0])
        bounds[0], bounds[1] = low[b], high[b]
        if not choose(scores, omitted, b, n, bounds, workspace, shares):
            continue
        directions(direction[b], omitted_direction[shared], n, bounds, moves)
        growth[b] = grow(shares, moves, n, bounds, workspace)
        change(shares, growth[b], n, bounds, workspace, weights[b], taken[b], left[b])
