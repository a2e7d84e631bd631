"""Products of a few rows with a large matrix, in little more time than it takes to read the matrix.

BLAS libraries are tuned for many rows: for eight rows they take two to three times as long.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels import jit
from strukt.kernels.memory import empty_tensor
from strukt.kernels.undifferentiated import carries_derivative

FEW = 16
"""The largest number of rows for which the kernel is faster than BLAS; for a single row it is not."""

LARGE = 1 << 16
"""The least number of entries of a matrix for which the kernel is used."""


def laid_out(matrix: Tensor, rows: int) -> Tensor:
    """Return a matrix ``(n, m)`` in the fastest memory layout for ``rows`` rows: column-major for few rows.

    The result is detached.
    """
    matrix = matrix.detach()
    if not _are_few(rows, matrix) or matrix.mT.is_contiguous():
        return matrix
    return empty_tensor((matrix.shape[1], matrix.shape[0]), matrix).copy_(matrix.mT).mT


def product(rows: Tensor, matrix: Tensor) -> Tensor:
    """Return ``rows @ matrix`` for ``rows (b, n)`` and ``matrix (n, m)`` of the same type."""
    fitting = _are_few(len(rows), matrix) and matrix.mT.is_contiguous()
    if not fitting or carries_derivative(rows) or carries_derivative(matrix):
        return rows @ matrix
    result = rows.new_empty(len(rows), matrix.shape[1])
    arrays = (tensor.detach().numpy() for tensor in (rows.contiguous(), matrix.mT, result))
    jit.over_batch(_products, jit.thread_count(matrix.shape[1], matrix.numel()), *arrays)
    return result


def _are_few(rows: int, matrix: Tensor) -> bool:
    """Return True if the rows are few, the matrix is large, and it is on a CPU where kernels can run."""
    there = jit.UNAVAILABLE is None and matrix.device.type == "cpu"
    return there and matrix.dtype.itemsize >= 4 and 1 < rows <= FEW and matrix.numel() >= LARGE


@jit.kernel
def _products(rows: Any, matrix: Any, result: Any, start: int, step: int) -> None:
    """Write ``rows @ matrix.T`` to ``result (b, m)``, for ``rows (b, n)`` and ``matrix (m, n)``.

    Each thread takes a range of rows of ``matrix``; two of ``rows`` are multiplied with four of them at a time.
    """
    b, n = rows.shape
    first, last = jit.rows_of(len(matrix), start, step)
    for j in range(first, last, 4):
        j0, j1, j2, j3 = j, min(j + 1, last - 1), min(j + 2, last - 1), min(j + 3, last - 1)
        m0, m1, m2, m3 = matrix[j0], matrix[j1], matrix[j2], matrix[j3]
        for i in range(0, b, 2):
            other = min(i + 1, b - 1)
            x, y = rows[i], rows[other]
            s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = result.dtype.type(0.0)
            for k in range(n):
                s0 += m0[k] * x[k]
                s1 += m1[k] * x[k]
                s2 += m2[k] * x[k]
                s3 += m3[k] * x[k]
                t0 += m0[k] * y[k]
                t1 += m1[k] * y[k]
                t2 += m2[k] * y[k]
                t3 += m3[k] * y[k]
            result[i, j0], result[i, j1], result[i, j2], result[i, j3] = s0, s1, s2, s3
            result[other, j0], result[other, j1], result[other, j2], result[other, j3] = t0, t1, t2, t3
