"""The inside algorithm (CKY) of binary trees over spans, as a table program."""

from __future__ import annotations

import numpy as np

from strukt.kernels.engine.program import Program, ProgramBuilder


def build(n: int, *_options: bool) -> Program:
    """Build the program of binary trees over n words.

    Its inputs are ``span[i, j]``, the weight of the span from fencepost i to j > i. Cell ``inside[i, j]`` is the
    total of all trees over the span. It is stored twice, as ``[i, j]`` and ``[j, i]``, so that runs are
    consecutive either way. Time O(n^3); (n + 1)^2 + 1 cells. Options of the structure are ignored.

    Source: Baker 1979.
    """
    p = ProgramBuilder()
    fencepost = np.arange(n + 1)
    span = p.weights(fencepost[:, None] < fencepost, times=2 * n - 1)
    inside, one = p.cells(n + 1, n + 1), p.cells()
    p.leaf(one)
    i = fencepost[:-1]
    p.sum(inside[i, i + 1], one, weight=span[i, i + 1], mirror=inside[i + 1, i], stage=1)
    i, j = np.triu_indices(n + 1, 2)
    p.sum(
        inside[i, j], inside[i, i + 1], inside[j, i + 1], count=j - i - 1, weight=span[i, j], mirror=inside[j, i],
        stage=j - i,
    )  # fmt: skip
    return p.build(inside[0, 1:])


def cells(fenceposts: int, _ends: int, *_options: bool) -> int:
    """Return the number of cells of the program that `build` returns."""
    return fenceposts * fenceposts + 1
