"""Kernels of the linear chain in log space: sums where probabilities would underflow, and the best way into a tag.

Scores of a step are kept relative to the best of the step, so that long chains lose no precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import exp, inner, kernel

Array = npt.NDArray[Any]


@inner
def enter_log(alpha: Array, transition: Array, top: Array, out: Array) -> None:
    """out[j] = logsumexp_i(alpha[i] + transition[i, j])."""
    enter_max(alpha, transition, top)
    c = out.shape[0]
    out[:] = 0.0
    for i in range(c):
        a = alpha[i]
        if a > -np.inf:
            for j in range(c):
                shift = top[j] if top[j] > -np.inf else 0.0
                out[j] += exp(a + transition[i, j] - shift)
    for j in range(c):
        out[j] = np.log(out[j]) + top[j] if out[j] > 0.0 else -np.inf


@inner
def enter_max(alpha: Array, transition: Array, out: Array) -> None:
    """out[j] = max_i(alpha[i] + transition[i, j])."""
    c = out.shape[0]
    out[:] = -np.inf
    i = 0
    while i + 7 < c:  # eight rows at a time save loads and stores of ``out``
        for j in range(c):
            p = max(alpha[i] + transition[i, j], alpha[i + 1] + transition[i + 1, j])
            q = max(alpha[i + 2] + transition[i + 2, j], alpha[i + 3] + transition[i + 3, j])
            r = max(alpha[i + 4] + transition[i + 4, j], alpha[i + 5] + transition[i + 5, j])
            s = max(alpha[i + 6] + transition[i + 6, j], alpha[i + 7] + transition[i + 7, j])
            out[j] = max(out[j], max(max(p, q), max(r, s)))
        i += 8
    while i < c:
        for j in range(c):
            out[j] = max(out[j], alpha[i] + transition[i, j])
        i += 1


@inner
def rebase(scores: Array) -> float:
    """Make the largest of the scores 0 and give what it was."""
    top = -np.inf
    for j in range(scores.shape[0]):
        top = max(top, scores[j])
    if top > -np.inf:
        for j in range(scores.shape[0]):
            scores[j] -= top
    return top


@kernel
def _log_sum(scores: Array) -> float:
    """The log-sum-exp of scores of which the largest is 0."""
    total = 0.0
    for j in range(scores.shape[0]):
        total += exp(scores[j])
    return np.log(total)  # type: ignore[no-any-return]


@inner
def forward_item(unary: Array, transition: Array, length: int, chart: Array) -> float:
    """The log-partition of one item; the chart gets forward scores relative to the best of each step."""
    c = unary.shape[1]
    alpha = np.empty(c)
    entered = np.zeros(c)
    top = np.empty(c)
    total = 0.0
    for t in range(length):
        if t > 0:
            enter_log(alpha, transition[min(t, transition.shape[0]) - 1].astype(np.float64), top, entered)
        for j in range(c):
            alpha[j] = entered[j] + unary[t, j]
        shift = rebase(alpha)
        if shift == -np.inf:
            return -np.inf
        total += shift
        for j in range(c):
            chart[t, j] = alpha[j]
    return total + _log_sum(alpha)


@kernel
def backward(
    unary: Array, transition: Array, lengths: Array, weights: Array, chart: Array, tags: Array, pairs: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Weighted marginals of the items whose chart is in log space; others are left as they are."""
    batch, _, c = unary.shape
    beta = np.empty(c)
    onward = np.empty(c)
    for b in range(start, batch, step):
        if lengths[b] == 0 or chart[b, 0, c] >= 0.0:
            continue
        beta[:] = 0.0
        _normalised(chart[b, lengths[b] - 1], beta, weights[b], tags[b, lengths[b] - 1])
        for t in range(lengths[b] - 2, -1, -1):
            s = min(t, transition.shape[1] - 1)
            scores = transition[b * transition.shape[0] // batch, s]
            for j in range(c):
                onward[j] = beta[j] + unary[b, t + 1, j]
            for i in range(c):
                top = -np.inf
                for j in range(c):
                    top = max(top, scores[i, j] + onward[j])
                total = 0.0
                if top > -np.inf:
                    for j in range(c):
                        total += exp(scores[i, j] + onward[j] - top)
                beta[i] = top + np.log(total) if total > 0.0 else -np.inf
            log_mass = _normalised(chart[b, t], beta, weights[b], tags[b, t])
            for i in range(c):
                alpha = chart[b, t, i] - log_mass
                for j in range(c):
                    pairs[b, s, i, j] += weights[b] * exp(alpha + scores[i, j] + onward[j])
            rebase(beta)


@kernel
def _normalised(alpha: Array, beta: Array, weight: float, out: Array) -> float:
    """Out = weight * softmax(alpha + beta); gives the log of the normaliser."""
    c = beta.shape[0]
    top = -np.inf
    for j in range(c):
        top = max(top, alpha[j] + beta[j])
    total = 0.0
    for j in range(c):
        total += exp(alpha[j] + beta[j] - top)
    log_mass = top + np.log(total)
    for j in range(c):
        out[j] = weight * exp(alpha[j] + beta[j] - log_mass)
    return log_mass  # type: ignore[no-any-return]
