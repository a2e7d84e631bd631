"""Tables that answer what the kernels of a structure leave open: the scores of an item as one flat row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.engine import items
from strukt.kernels.engine.groups import by_ring, on_items
from strukt.kernels.engine.program import Array, Program
from strukt.kernels.engine.questions import Questions, numpy_of
from strukt.kernels.engine.rows import joined, parted
from strukt.kernels.engine.tables import Tables
from strukt.kernels.memory import empty


class Flat(Questions):
    """A structure that may use each weight any number of times.

    Args:
        build: ``build(n, *sizes)`` writes the program of items of length n >= 1, from weights at places of a flat
            row (`ProgramBuilder.scattered`); the sizes are those of `_sizes`.
    """

    def __init__(self, build: Callable[..., Program]) -> None:
        self.tables = Tables(build)

    def _places(self, main: Tensor) -> Sequence[int]:
        """Those of a flat row, of any size."""
        return (1,)

    def _run_rings(
        self, kernel: Callable[..., None], scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any],
        rows: Array, chart: Tensor, *arrays: Array,
    ) -> None:  # fmt: skip
        """Call a kernel on all possible items in their rings; the chart is one of the structure's own kernels."""
        groups = self._groups(scores, lengths, options)
        cells = max((len(table.maker) for table, _ in groups), default=0)
        charts = empty((len(rows), items.HEAD + cells))
        on_items(items.totals, groups, None, rows, charts, np.empty(len(rows)))
        for each, ring in by_ring(groups, charts[:, 0]):
            on_items(kernel, each, ring, rows, charts, *arrays)


class FlatPairs(Flat):
    """One of which scores are two tensors: the main ones, and those of pairs, which several items may share.

    A row has the main scores ``(batch, ...)``, then those of pairs ``(groups, ...)``; groups divide the batch. The
    sizes are the structure's constants ``(batch,)``, and the shapes of both.
    """

    scores = 2

    def _sizes(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> list[tuple[Any, ...]]:
        shapes = [tuple(each.shape[1:]) for each in scores]
        each = zip(lengths.tolist(), *(constant.tolist() for constant in options), strict=True)
        return [(*numbers, *shapes) for numbers in each]

    def _joined(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Array:
        return row_of(scores)

    def _parted(self, found: Array, scores: Sequence[Tensor], options: Sequence[Any]) -> Scores:
        return parts_of(found, scores)


def row_of(scores: Sequence[Tensor]) -> Array:
    """Scores of several tensors as ``(batch, places, 1, 1)``, in the type of the first."""
    rows = joined([torch.from_numpy(numpy_of(score)).flatten(1) for score in scores]).numpy()
    return rows.reshape(*rows.shape, 1, 1)


def parts_of(found: Array, scores: Sequence[Tensor]) -> Scores:
    """Such a row in the types and shapes of the scores, each by itself: results of operators share no memory."""
    rows = torch.from_numpy(found.reshape(found.shape[:2]))
    parts = zip(parted(rows, scores), scores, strict=True)
    return tuple(score.new_empty(score.shape).copy_(part) for part, score in parts)
