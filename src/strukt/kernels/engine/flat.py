"""Tables that answer what the kernels of a structure leave open: the scores of an item as one flat row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.engine.groups import EXTENDED_RING, on_items
from strukt.kernels.engine.items import EXTENDED
from strukt.kernels.engine.program import Array, Program
from strukt.kernels.engine.questions import Questions, numpy_of
from strukt.kernels.engine.rows import joined, parted
from strukt.kernels.engine.tables import Tables


class Flat(Questions):
    """A structure that may use each weight any number of times.

    Args:
        build: ``build(n, *sizes)`` writes the program of items of length n >= 1, from weights at places of a flat
            row (`ProgramBuilder.scattered`); the sizes are those of `_sizes`.
        ring: The numbers that entropies try first: `PLAIN` where these hold most items.
    """

    def __init__(self, build: Callable[..., Program], ring: float = EXTENDED) -> None:
        self.tables = Tables(build)
        self.ring = ring

    def _places(self, main: Tensor) -> Sequence[int]:
        """Those of a flat row, of any size."""
        return (1,)

    def _run_rings(
        self, kernel: Callable[..., None], scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any],
        rows: Array, chart: Tensor, *arrays: Array,
    ) -> None:  # fmt: skip
        """Call a kernel on all items in extended numbers; the chart is one of the structure's own kernels."""
        groups, no_charts = self._groups(scores, lengths, options), np.empty((len(rows), 0))
        on_items(kernel, groups, EXTENDED_RING, rows, no_charts, *arrays)


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
