"""The Matrix-Tree theorem with many digits: log-partition and marginals of trees too many to enumerate.

Cancellation, which ruins the determinant in floating point at large scores, costs nothing here but digits.
"""

from __future__ import annotations

import mpmath
import torch


def log_partition_and_marginals(arcs: torch.Tensor, single_root: bool) -> tuple[float, torch.Tensor]:
    """Of one item, `arcs` being `(n, n + 1)`; Koo et al. (2007), sections 3.1 and 3.2."""
    n = len(arcs)
    with mpmath.workdps(60 + 2 * int(arcs[arcs > -torch.inf].abs().max())):
        weights = [[mpmath.exp(mpmath.mpf(score)) for score in row] for row in arcs.double().tolist()]
        laplacian = _laplacian(weights, single_root)
        log_partition = float(mpmath.log(mpmath.det(laplacian)))
        inverse = laplacian**-1
        marginals = [
            [float(weights[m][h] * _slope(inverse, m, h, single_root)) for h in range(n + 1)]
            for m in range(n)
        ]
    return log_partition, torch.tensor(marginals, dtype=torch.float64)


def _laplacian(weights: list[list[mpmath.mpf]], single_root: bool) -> mpmath.matrix:
    """Column m for word m: its summed weights on the diagonal, minus each head's weight in the head's row."""
    n = len(weights)
    laplacian = mpmath.zeros(n)
    for m in range(n):
        for h in range(1, n + 1):
            if h != m + 1:
                laplacian[m, m] += weights[m][h]
                laplacian[h - 1, m] -= weights[m][h]
        if not single_root:
            laplacian[m, m] += weights[m][0]
    if single_root:
        for m in range(n):
            laplacian[0, m] = weights[m][0]
    return laplacian


def _slope(inverse: mpmath.matrix, m: int, h: int, single_root: bool) -> mpmath.mpf:
    """Derivative of the log-determinant in the weight of head h for word m."""
    if h == m + 1:
        return mpmath.mpf(0)
    first = 1 if single_root else 0  # row 0 holds root weights, so that no other arc enters it
    if h == 0:
        return inverse[m, 0] if single_root else inverse[m, m]
    own = inverse[m, m] if m >= first else mpmath.mpf(0)
    head = inverse[m, h - 1] if h - 1 >= first else mpmath.mpf(0)
    return own - head
