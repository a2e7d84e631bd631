"""The projection onto the polytope of a variable, the output, that is the OR of others, the inputs (AD3).

    0 <= p <= 1,  p_last >= p_i,  p_last <= sum p_i

(Martins et al. 2015, AD3, section 5.2.) Without the last constraint, the output and the largest inputs share their
mean. If that breaks the constraint, it holds with equality, which implies all p_last >= p_i: what remains is the
projection onto a band.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.kernels.lp_sparsemap.band import FIXED, FREE, POOLED, band


@kernel
def or_out(x: Array, p: Array, labels: Array, costs: Array) -> int:
    """Write the projection of ``x (d,)``, the output last, to ``p (d,)``, and ``labels (d,)``.

    Return 1 if the last constraint binds the projection, which then lies in its plane, else 0. ``costs``, of at
    least d entries, is workspace for the plane's normal: 1 for inputs, -1 for the output. See `band` for labels.
    """
    n = x.shape[0] - 1
    level = _level(x)
    top = min(max(level, 0.0), 1.0)
    total, tied = 0.0, 0
    for j in range(n):
        p[j] = min(max(x[j], 0.0), top)
        total += p[j]
        tied += int(x[j] > level)
    p[n] = top
    if total >= top:
        inside = 0.0 < top < 1.0
        for j in range(n):
            labels[j] = FREE if 0.0 < p[j] < 1.0 else FIXED
            if x[j] > level and inside:
                labels[j] = POOLED
        labels[n] = (POOLED if tied > 0 else FREE) if inside else FIXED
        return 0
    for j in range(n):
        costs[j] = 1.0
    costs[n] = -1.0
    return band(x, costs[: n + 1], 0.0, 0.0, p, labels)


@inner
def _level(x: Array) -> float:
    """Return the mean of the output's score and of all inputs' scores above this mean, by Newton's method."""
    n = x.shape[0] - 1
    level, count = np.float64(x[n]), -1
    for _ in range(n + 1):
        total, above = x[n], 0
        for j in range(n):
            if x[j] > level:
                total += x[j]
                above += 1
        if above == count:
            break
        level, count = total / (1.0 + above), above
    result: float = level
    return result


@kernel
def or_out_support(scores: Array) -> float:
    """Return the largest ``<scores, y>``, both ``(d,)``, over the y whose last entry is the OR of the others."""
    n = scores.shape[0] - 1
    total, top = 0.0, -np.inf
    for j in range(n):
        total += max(0.0, scores[j])
        top = max(top, scores[j])
    best: float = max(0.0, scores[n] + (total if top > 0.0 else top))
    return best
