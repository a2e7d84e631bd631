"""The products of `cpu_products` for dual numbers.

Each number comes with its derivative along a direction, its *move*, in a second array.
"""

from __future__ import annotations

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner
from strukt.structures.pcfg.cpu_products import BLOCK


@inner
def move_product(matrix: Array, matrix_moves: Array, rows: Array, row_moves: Array, out: Array) -> None:
    """Write to ``out[j, r]`` the move of the sum over k of ``matrix[r, k] rows[j, k]``."""
    count, depth = rows.shape
    whole = count - count % BLOCK
    for j in range(0, whole, BLOCK):
        for r in range(len(matrix)):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for k in range(depth):
                x, y = matrix[r, k], matrix_moves[r, k]
                a += x * row_moves[j, k] + y * rows[j, k]
                b += x * row_moves[j + 1, k] + y * rows[j + 1, k]
                c += x * row_moves[j + 2, k] + y * rows[j + 2, k]
                d += x * row_moves[j + 3, k] + y * rows[j + 3, k]
            out[j, r], out[j + 1, r], out[j + 2, r], out[j + 3, r] = a, b, c, d
    for j in range(whole, count):
        for r in range(len(matrix)):
            a = 0.0
            for k in range(depth):
                a += matrix[r, k] * row_moves[j, k] + matrix_moves[r, k] * rows[j, k]
            out[j, r] = a


@inner
def move_pull(
    matrix: Array, matrix_moves: Array, rows: Array, row_moves: Array, out: Array, out_moves: Array
) -> None:
    """Add to ``out[j, k]`` the sum over r of ``rows[j, r] matrix[r, k]``, and to ``out_moves`` its move."""
    height, depth = matrix.shape
    whole = height - height % 2
    for j in range(len(rows)):
        for r in range(0, whole, 2):
            a, b = rows[j, r], rows[j, r + 1]
            c, d = row_moves[j, r], row_moves[j, r + 1]
            for k in range(depth):
                x, y = matrix[r, k], matrix[r + 1, k]
                out[j, k] += a * x + b * y
                out_moves[j, k] += (c * x + d * y) + (a * matrix_moves[r, k] + b * matrix_moves[r + 1, k])
        for r in range(whole, height):
            a, c = rows[j, r], row_moves[j, r]
            for k in range(depth):
                out[j, k] += a * matrix[r, k]
                out_moves[j, k] += c * matrix[r, k] + a * matrix_moves[r, k]


@inner
def move_outer(
    left: Array, left_moves: Array, right: Array, right_moves: Array, total: Array, total_moves: Array
) -> None:
    """Add to ``total[r, k]`` the sum over j of ``left[j, r] right[j, k]``, and to ``total_moves`` its move."""
    move_pull(right, right_moves, left.T, left_moves.T, total, total_moves)
