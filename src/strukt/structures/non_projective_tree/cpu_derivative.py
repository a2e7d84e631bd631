"""The derivative of the marginals of non-projective trees: forward mode through the elimination and its gradient.

The *change* of a value is its derivative along a direction of the scores (its tangent). The values are the factors
that the elimination of `cpu_matrix_tree` left in the chart. Unlike the Laplacian's inverse, they are computed
without subtraction.

With the derivative of `cpu_marginals` instead, the gradient of marginals would take 3 times as long (32 sentences
of 40 words, or 8 of 100), and 1.2 to 1.5 times for small inputs.
"""

from __future__ import annotations

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner


@inner
def eliminate_change(factors: Array, single_root: bool, change: Array) -> float:
    """Turn the changes of weights into those of the factors, in place; return the change of the log-total.

    ``factors`` and ``change`` are ``(n, n + 1)``.
    """
    n = factors.shape[0]
    total = 0.0
    for k in range(n - 1, -1, -1):
        pivot, rise = factors[k, k + 1], 0.0
        for j in range(1, k + 1):
            rise += change[k, j]
        if k == 0 or not single_root:
            rise += change[k, 0]
        total += rise / pivot
        for j in range(k + 1):
            change[k, j] = (change[k, j] - factors[k, j] * rise) / pivot
        change[k, k + 1] = rise
        for i in range(k):
            into, into_change, saved = factors[i, k + 1], change[i, k + 1], change[i, i + 1]
            for j in range(k + 1):
                change[i, j] += into_change * factors[k, j] + into * change[k, j]
            change[i, i + 1] = saved
    return total


@inner
def gradient_change(
    factors: Array, change: Array, single_root: bool, slope: Array, slope_change: Array, workspace: Array
) -> None:
    """Write the derivative of the log-total with respect to each weight, and the change of this derivative.

    Args:
        factors: ``(n, n + 1)``, the factors of an item of n words.
        change: ``(n, n + 1)``, the changes of the factors.
        single_root: Whether exactly one word depends on the root.
        slope: ``(n, n + 1)``, the derivatives, written; 0 at the pivots ``[k, k + 1]``.
        slope_change: ``(n, n + 1)``, the changes of the derivatives, written; 0 at the pivots.
        workspace: At least ``(2, n + 1)``.
    """
    n = factors.shape[0]
    shared, shared_change = workspace[0], workspace[1]
    slope[:, :] = 0.0
    slope_change[:, :] = 0.0
    for k in range(n):
        pivot, rise = factors[k, k + 1], change[k, k + 1]
        shared[:] = 0.0
        shared_change[:] = 0.0
        for i in range(k):
            into, into_change = factors[i, k + 1], change[i, k + 1]
            total = total_change = 0.0
            for j in range(k + 1):
                shared[j] += into * slope[i, j]
                shared_change[j] += into * slope_change[i, j] + into_change * slope[i, j]
                total += slope[i, j] * factors[k, j]
                total_change += slope_change[i, j] * factors[k, j] + slope[i, j] * change[k, j]
            slope[i, k + 1], slope_change[i, k + 1] = total, total_change
        through = through_change = 0.0
        for j in range(k + 1):
            through += shared[j] * factors[k, j]
            through_change += shared_change[j] * factors[k, j] + shared[j] * change[k, j]
        for j in range(k + 1):
            in_pivot = j > 0 or k == 0 or not single_root
            slope[k, j] = (shared[j] + (1.0 - through if in_pivot else 0.0)) / pivot
            direct = through_change if in_pivot else 0.0
            slope_change[k, j] = (shared_change[j] - direct - slope[k, j] * rise) / pivot
        slope[k, k + 1] = slope_change[k, k + 1] = 0.0
