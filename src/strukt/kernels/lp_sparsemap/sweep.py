"""The alternating direction method of multipliers (ADMM) over the factors of a graph.

For marginals mu, points p_f of the factors, multipliers lambda_f, scores eta (for LP-MAP plus curvature times the
proximal centre) and local scores c_f, iterate:

    p_f      <- argmin over p of  step / 2 |p - (mu_f + lambda_f / step)|^2 - c_f
    mu_i     <- (eta_i + sum_f (step p_f,i - lambda_f,i)) / (curvature + step degree_i)
    lambda_f <- lambda_f + step (mu_f - p_f)

(Niculae and Martins 2020, LP-SparseMAP, algorithm 1; Boyd et al. 2011, section 3.4, on relaxation and steps.) At
the solution the points p_f equal the marginals, so their distance is the error that decides convergence.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner
from strukt.kernels.lp_sparsemap.band import band
from strukt.kernels.lp_sparsemap.or_out import or_out
from strukt.kernels.lp_sparsemap.pair import pair, pair_labels
from strukt.kernels.lp_sparsemap.state import BAND, DONE, ORACLE, PAIR, POLISH, RUNNING, TRIAL, Graph, State

RELAXATION = 1.6
"""The over-relaxation factor of ADMM."""

POLISH_GROWTH = 1.3
"""The factor by which the number of iterations between polishing attempts grows."""

SHARPER = 0.1
"""The number by which the weight of the proximal term is multiplied each time that its centre moves."""

LEAST_CURVATURE = 1e-6
"""The least weight of the proximal term, relative to the step size."""

LEAST_STEP, MOST_STEP = 1e-6, 1e8
"""The bounds of the step size, relative to ``State.scale``; see also `RESOLUTION`."""

PATIENCE = 2
"""The number of successive trials without improvement that are allowed: even if a point overshoots, its faces are
often right."""

ADAPT_EVERY = 10
"""The number of iterations between changes of the step size in the first 100 iterations; later it grows."""

RESOLUTION = 1e-15
"""The difference between a copy and its marginal that can be a rounding error; times the step size, that of the
multipliers. It counts as convergence up to `LOOSEST` thresholds, and steps do not grow beyond that."""

LOOSEST = 1e3
"""The largest error that counts as a rounding error, relative to the threshold: the tolerance of the marginals."""


@inner
def project_factors(graph: Graph, state: State, item: int, work: Array) -> None:
    """Project onto the closed-form factors of an item: write ``points``, ``labels`` and ``tight`` of its state.

    ``work (3, widest)`` is workspace.
    """
    marginals, multipliers = state.marginals[item], state.multipliers[item]
    points, labels, step = state.points[item], state.labels[item], state.step[item]
    for f in range(graph.kinds.shape[0]):
        first, last = graph.starts[f], graph.starts[f + 1]
        kind, size = graph.kinds[f], last - first
        if kind == ORACLE:
            continue
        for j in range(size):
            value = marginals[graph.copies[first + j]] + multipliers[first + j] / step
            work[0, j] = value if graph.signs[first + j] > 0.0 else 1.0 - value
        if kind == PAIR:
            score = state.pair_scores[item, graph.pair[f]] / step
            a, b, region = pair(work[0, 0], work[0, 1], score)
            work[1, 0], work[1, 1] = a, b
            labels[first], labels[first + 1] = pair_labels(a, b, region)
            state.tight[item, f] = region
        elif kind == BAND:
            state.tight[item, f] = band(
                work[0, :size], graph.costs[first:last], graph.low[f], graph.high[f],
                work[1, :size], labels[first:last],
            )  # fmt: skip
        else:
            state.tight[item, f] = or_out(work[0, :size], work[1, :size], labels[first:last], work[2, :size])
        for j in range(size):
            value = work[1, j]
            points[first + j] = value if graph.signs[first + j] > 0.0 else 1.0 - value


@inner
def decide(graph: Graph, state: State, item: int, sums: Array) -> None:
    """Measure the error of an item's points and set its mode; revert trials that do not improve.

    ``sums (V,)`` is workspace.
    """
    state.iterations[item] += 1
    primal = _disagreement(graph, state, item)
    error = primal * max(1.0, state.step[item])
    if state.mode[item] == TRIAL:
        error = max(error, _imbalance(graph, state, item, sums))
    threshold = state.threshold[item]
    if error <= max(threshold, min(RESOLUTION * state.step[item], LOOSEST * threshold)):
        state.mode[item] = DONE
        if graph.curvature == 0.0:
            error = max(error, _recenter(state, item))
    elif state.mode[item] == TRIAL:
        if error < 0.5 * state.kept_error[item] or state.tries[item] < PATIENCE:
            state.tries[item] = 0 if error < 0.5 * state.kept_error[item] else state.tries[item] + 1
            state.mode[item] = POLISH
        else:
            take_back(graph, state, item)
            return
    elif state.iterations[item] > state.polish_at[item]:
        state.mode[item] = POLISH
        since = state.iterations[item] - state.begun[item]
        state.polish_at[item] = state.begun[item] + np.int64(POLISH_GROWTH * since) + 1
    state.error[item], state.primal[item] = error, primal


@inner
def take_back(graph: Graph, state: State, item: int) -> None:
    """Restore the state before unsuccessful trials."""
    state.tries[item], state.mode[item] = 0, RUNNING
    state.marginals[item] = state.kept_marginals[item]
    state.multipliers[item] = state.kept_multipliers[item]
    state.points[item] = state.kept_points[item]
    state.error[item], state.primal[item] = state.kept_error[item], _disagreement(graph, state, item)


@inner
def _disagreement(graph: Graph, state: State, item: int) -> float:
    """Return the largest absolute difference between a copy's point and its variable's marginal."""
    result = 0.0
    for j in range(graph.copies.shape[0]):
        result = max(result, abs(state.points[item, j] - state.marginals[item, graph.copies[j]]))
    return result


@inner
def _recenter(state: State, item: int) -> float:
    """Move the proximal centre to the marginals unless it is close; return its distance times the curvature.

    The solution of the proximal problem is one of LP-MAP if it is its own centre (Rockafellar 1976).
    """
    moved = 0.0
    for i in range(state.scores.shape[1]):
        moved = max(moved, abs(state.marginals[item, i] - state.center[item, i]))
    lacking: float = state.curvature[item] * moved
    if lacking > state.threshold[item]:
        state.center[item] = state.marginals[item]
        state.curvature[item] = max(SHARPER * state.curvature[item], LEAST_CURVATURE * state.step[item])
        state.mode[item], state.begun[item] = POLISH, state.iterations[item]
        state.polish_at[item] = state.iterations[item] + 3
    return lacking


@inner
def _imbalance(graph: Graph, state: State, item: int, sums: Array) -> float:
    """Return the largest difference, over variables, of the sum of multipliers from its value at a solution.

    That value is the score minus curvature times (marginal - centre). ``sums (V,)`` is workspace.
    """
    for i in range(sums.shape[0]):
        sums[i] = state.scores[item, i]
        sums[i] += state.curvature[item] * (state.center[item, i] - state.marginals[item, i])
    for j in range(graph.copies.shape[0]):
        sums[graph.copies[j]] -= state.multipliers[item, j]
    largest = 0.0
    for i in range(sums.shape[0]):
        if graph.degrees[i] > 0.0 and state.free[item, i] > 0.0:
            largest = max(largest, abs(sums[i]))
    return largest


@inner
def update(graph: Graph, state: State, item: int, sums: Array) -> None:
    """Update the marginals of an item from its points, and then its multipliers; points are over-relaxed in place.

    ``sums (V,)`` is workspace.
    """
    marginals, multipliers, points = state.marginals[item], state.multipliers[item], state.points[item]
    step, scores, curvature = state.step[item], state.scores[item], state.curvature[item]
    for i in range(scores.shape[0]):
        sums[i] = scores[i] + curvature * state.center[item, i]
    for j in range(graph.copies.shape[0]):
        variable = graph.copies[j]
        points[j] = RELAXATION * points[j] + (1.0 - RELAXATION) * marginals[variable]
        sums[variable] += step * points[j] - multipliers[j]
    largest = 0.0
    for i in range(scores.shape[0]):
        if graph.degrees[i] > 0.0 and state.free[item, i] > 0.0:
            value = sums[i] / (curvature + step * graph.degrees[i])
            largest = max(largest, abs(value - marginals[i]))
            marginals[i] = value
    size = 0.0
    for j in range(graph.copies.shape[0]):
        multipliers[j] += step * (marginals[graph.copies[j]] - points[j])
        size = max(size, abs(multipliers[j]))
    state.dual[item] = step * largest
    _adapt(state, item, size)


@inner
def _adapt(state: State, item: int, size: float) -> None:
    """Adapt the step size to balance the primal and the dual residual, in some iterations.

    The dual residual is relative to ``size``, the largest multiplier.
    """
    turn = state.iterations[item]
    if turn % (ADAPT_EVERY * (1 + turn // 100)) != 0:
        return
    primal, dual = state.primal[item], state.dual[item] / max(size, 1e-30)
    ratio = np.sqrt(max(primal, 1e-30) / max(dual, 1e-30))
    if ratio > 2.0 or ratio < 0.5:
        ratio = min(max(ratio, 0.2), 5.0)
        least, most = LEAST_STEP * state.scale[item], MOST_STEP * state.scale[item]
        most = max(least, min(most, LOOSEST / RESOLUTION * state.threshold[item]))
        state.step[item] = min(max(state.step[item] * ratio, least), most)
