"""The forward algorithm of transducers (Graves 2012), as a table program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strukt.kernels.engine.program import Program, ProgramBuilder


def build(n: int, m: int, shape: Sequence[int]) -> Program:
    """Build the program of alignments of n frames with m labels.

    Its inputs are ``move[t, u, b]``, the score of a move out of node (t, u): b = 0 is a blank, b = 1 is label u.
    Cell ``way[t, u, b]`` is the total of all paths into the node by move b. The last frame is left by a blank.
    Time O(n m).

    Args:
        n: The number of frames.
        m: The number of labels; if below 0, there is no path.
        shape: The shape of the scores, ``(frames, labels + 1, 2)``.

    Source: Graves 2012, equation 16.
    """
    p = ProgramBuilder()
    t, u = np.ogrid[:n, : m + 1]
    place = 2 * (t * shape[1] + u)
    blank = p.scattered(place, times=n)
    label = p.scattered(np.where(u < m, place + 1, -1), times=max(m, 0))
    way, none = p.cells(n + 1, m + 1, 2), p.cells(1)
    if m < 0:
        return p.build(none)
    p.leaf(way[0, 0, 0])
    p.sum(way[1:, :, 0], way[:-1, :, 0], count=2, weight=blank, stage=t + u)
    t, u = np.ogrid[:n, :m]
    p.sum(way[:-1, 1:, 1], way[:-1, :-1, 0], count=2, weight=label[:, :m], stage=t + u)
    return p.build(np.append(none, way[1:, :, 0]))


def cells(shape: Sequence[int]) -> int:
    """Return the number of cells of the program of the padded size, or slightly more."""
    return 2 * (shape[0] + 1) * shape[1] + 4
