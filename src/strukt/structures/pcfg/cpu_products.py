"""Products of matrices with a few rows at a time, in vectorised loops.

Rows are processed in blocks of four, so that an entry of the matrix or the result is loaded once for four
products.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import kernel

BLOCK = 4
"""The number of rows in a block; loops are unrolled for it."""


@kernel
def product(matrix: Array, rows: Array, out: Array) -> None:
    """Write to ``out[j, r]`` the sum over k of ``matrix[r, k] rows[j, k]``."""
    count, depth = rows.shape
    whole = count - count % BLOCK
    for j in range(0, whole, BLOCK):
        for r in range(len(matrix)):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for k in range(depth):
                x = matrix[r, k]
                a += x * rows[j, k]
                b += x * rows[j + 1, k]
                c += x * rows[j + 2, k]
                d += x * rows[j + 3, k]
            out[j, r], out[j + 1, r], out[j + 2, r], out[j + 3, r] = a, b, c, d
    for j in range(whole, count):
        for r in range(len(matrix)):
            a = 0.0
            for k in range(depth):
                a += matrix[r, k] * rows[j, k]
            out[j, r] = a


@kernel
def pull(matrix: Array, rows: Array, out: Array) -> None:
    """Add to ``out[j, k]`` the sum over r of ``rows[j, r] matrix[r, k]``."""
    height, depth = matrix.shape
    whole = height - height % BLOCK
    for j in range(len(rows)):
        for r in range(0, whole, BLOCK):
            a, b, c, d = rows[j, r], rows[j, r + 1], rows[j, r + 2], rows[j, r + 3]
            for k in range(depth):
                out[j, k] += (a * matrix[r, k] + b * matrix[r + 1, k]) + (
                    c * matrix[r + 2, k] + d * matrix[r + 3, k]
                )
        for r in range(whole, height):
            a = rows[j, r]
            for k in range(depth):
                out[j, k] += a * matrix[r, k]


@kernel
def outer(left: Array, right: Array, total: Array) -> None:
    """Add to ``total[r, k]`` the sum over j of ``left[j, r] right[j, k]``."""
    pull(right, left.T, total)


@kernel
def max_pull(matrix: Array, row: Array, out: Array) -> None:
    """Raise ``out[k]`` to the largest ``row[r] + matrix[r, k]`` over r, if that is larger."""
    height, depth = matrix.shape
    whole = height - height % BLOCK
    for r in range(0, whole, BLOCK):
        a, b, c, d = row[r], row[r + 1], row[r + 2], row[r + 3]
        for k in range(depth):
            low = max(a + matrix[r, k], b + matrix[r + 1, k])
            high = max(c + matrix[r + 2, k], d + matrix[r + 3, k])
            out[k] = max(out[k], max(low, high))
    for r in range(whole, height):
        a = row[r]
        for k in range(depth):
            out[k] = max(out[k], a + matrix[r, k])


@kernel
def max_outer(left: Array, right: Array, total: Array) -> None:
    """Write to ``total[r, k]`` the largest ``left[j, r] + right[j, k]`` over j."""
    total[:] = -np.inf
    for r in range(len(total)):
        max_pull(right, left[:, r], total[r])
