"""Weights of a chain on the CPU: exponentials of scores, for the passes in probability space."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner, kernel

TINY = 1e-100
"""The smallest nonzero weight that counts as safe from underflow, relative to the largest of its step."""

UNDERFLOWED = -1.0
"""The normaliser of the first position in the chart of an item that underflowed; 0 marks an item that is
impossible or of length 0."""

BLOCK = 8
"""The most items that are multiplied together by a matrix that they share."""


@inner
def longest_of(lengths: Array) -> int:
    """Return the largest length; ``lengths.max()`` would take a second to compile."""
    longest = 0
    for length in lengths:
        longest = max(longest, length)
    return longest


@inner
def weigh_position(unary: Array, b: int, t: int, out: Array) -> tuple[float, bool]:
    """Write the weights of one position, exp(scores - top), with the largest score as top, or 0 if it is -inf.

    Return top, and True if every weight of a finite score is at least TINY.
    """
    c = unary.shape[2]
    top = unary[b, t, 0]
    for j in range(c):
        top = max(top, unary[b, t, j])
    shift = np.float64(top) if top > -np.inf else 0.0
    underflowed = 0
    for j in range(c):
        shifted = np.float64(unary[b, t, j]) - shift
        weight = exp(shifted)
        out[j] = weight
        underflowed += int((weight < TINY) & (shifted > -np.inf))
    return shift, underflowed == 0


@inner
def weigh(scores: Array, out: Array) -> tuple[float, bool]:
    """Write the weights of a matrix, exp(scores - top), with the largest score as top, or 0 if it is -inf.

    Return top, and True if every weight of a finite score is at least TINY.
    """
    top = -np.inf
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            top = max(top, np.float64(scores[i, j]))
    shift = top if top > -np.inf else 0.0
    underflowed = 0
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            shifted = np.float64(scores[i, j]) - shift
            weight = exp(shifted)
            out[i, j] = weight
            underflowed += int((weight < TINY) & (shifted > -np.inf))
    return shift, underflowed == 0


@kernel
def weigh_shared(
    transition: Array, transposed: bool, matrices: Array, tops: Array, start: int, step: int
) -> None:
    """Write exp(transition - top), one matrix for each group; top is NaN for a group that could underflow.

    If ``transposed``, the matrices are transposed.

    Arrays: ``transition (g, 1, c, c)``, ``matrices (g, c, c)`` and ``tops (g,)``.
    """
    for group in range(start, transition.shape[0], step):
        top, safe = weigh(transition[group, 0], matrices[group])
        tops[group] = top if safe else np.nan
        if transposed:
            _transpose(matrices[group])


@inner
def _transpose(matrix: Array) -> None:
    """Transpose a matrix in place, in blocks of 8 x 8, whose rows are one cache line each."""
    c = matrix.shape[0]
    for top in range(0, c, 8):
        for left in range(0, top + 1, 8):
            for i in range(top, min(top + 8, c)):
                for j in range(left, min(left + 8, i)):
                    matrix[i, j], matrix[j, i] = matrix[j, i], matrix[i, j]


@inner
def multiply(left: Array, matrix: Array, out: Array) -> None:
    """Write ``left @ matrix`` for a few rows ``(rows, c)``, eight terms at a time to save accesses to ``out``."""
    rows, c = out.shape
    out[:, :] = 0.0
    i = 0
    while i + 7 < c:
        for q in range(rows):
            p, r, s, t = left[q, i], left[q, i + 1], left[q, i + 2], left[q, i + 3]
            w, x, y, z = left[q, i + 4], left[q, i + 5], left[q, i + 6], left[q, i + 7]
            for j in range(c):
                out[q, j] += (
                    p * matrix[i, j] + r * matrix[i + 1, j] + s * matrix[i + 2, j] + t * matrix[i + 3, j]
                ) + (
                    w * matrix[i + 4, j] + x * matrix[i + 5, j] + y * matrix[i + 6, j] + z * matrix[i + 7, j]
                )
        i += 8
    while i < c:
        for q in range(rows):
            w = left[q, i]
            for j in range(c):
                out[q, j] += w * matrix[i, j]
        i += 1


@inner
def block_width(batch: int, threads: int) -> int:
    """Return the number of items in a block: at most BLOCK, and at most an equal share of the batch per thread."""
    return min(BLOCK, (batch + threads - 1) // threads)
