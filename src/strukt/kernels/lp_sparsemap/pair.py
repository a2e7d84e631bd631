"""SparseMAP of two variables with a score c if both are 1, in closed form (AD3).

    argmin  (a - s)^2 / 2 + (b - t)^2 / 2 - c m   over  0 <= a, b <= 1,  max(0, a + b - 1) <= m <= min(a, b)

(Martins et al. 2015, AD3, section 5.1.) The probability m that both are 1 is as large as a and b allow if c > 0,
and as small as they allow if c < 0. If c is -inf, they cannot both be 1.
"""

from __future__ import annotations

from strukt.kernels.jit import inner, kernel
from strukt.kernels.lp_sparsemap.band import FIXED, FREE, POOLED

NEVER, SECOND, FIRST, EXCESS, TOGETHER, APART = 0, 1, 2, 3, 4, 5
"""The regions of m: it is 0, b, a, or a + b - 1; or the face has b = a (TOGETHER), or b = 1 - a (APART)."""


@kernel
def pair(s: float, t: float, c: float) -> tuple[float, float, int]:
    """Return the optimal a and b for scores s, t and c, and the region of m."""
    if c >= 0.0:
        if s - t > c or (c == 0.0 and s > t):
            return _clip(s), _clip(t + c), SECOND
        if t - s > c or c == 0.0:
            return _clip(s + c), _clip(t), FIRST
        both = _clip(0.5 * (s + t + c))
        return both, both, TOGETHER
    excess = s + t - 1.0
    if excess <= 0.0:
        return _clip(s), _clip(t), NEVER
    if excess + 2.0 * c >= 0.0:
        return _clip(s + c), _clip(t + c), EXCESS
    first = _clip(0.5 * (s - t + 1.0))
    return first, 1.0 - first, APART


@inner
def _clip(x: float) -> float:
    return min(max(x, 0.0), 1.0)


@kernel
def pair_labels(a: float, b: float, region: int) -> tuple[int, int]:
    """Return the labels of both variables: FIXED, FREE or POOLED, by their movement along the face."""
    first = FREE if 0.0 < a < 1.0 else FIXED
    second = FREE if 0.0 < b < 1.0 else FIXED
    if region == TOGETHER and first == FREE:
        return POOLED, POOLED
    return first, second


@inner
def pair_slopes(region: int) -> tuple[float, float]:
    """Return the derivatives of m with respect to a and b along the face, if these can move."""
    if region == SECOND:
        return 0.0, 1.0
    if region == FIRST:
        return 1.0, 0.0
    if region == EXCESS:
        return 1.0, 1.0
    if region == TOGETHER:
        return 0.5, 0.5
    return 0.0, 0.0


@kernel
def best_joint(a: float, b: float, c: float) -> float:
    """Return the m that maximises ``c m`` for given a and b."""
    return min(a, b) if c >= 0.0 else max(0.0, a + b - 1.0)
