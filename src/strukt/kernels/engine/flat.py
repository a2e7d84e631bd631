"""Tables that answer what the kernels of a structure leave open: the scores of an item as one flat row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.engine.groups import EXTENDED_RING, on_items
from strukt.kernels.engine.items import EXTENDED
from strukt.kernels.engine.program import Array, Program
from strukt.kernels.engine.questions import Questions, numpy_of, result
from strukt.kernels.engine.tables import Tables


class Flat(Questions):
    """A structure that may use each weight any number of times, in extended numbers.

    Args:
        build: ``build(n, *sizes)`` writes the program of items of length n >= 1, from weights at places of a flat
            row (`ProgramBuilder.scattered`); the sizes are those of `_sizes`.
    """

    ring = EXTENDED

    def __init__(self, build: Callable[..., Program]) -> None:
        self.tables = Tables(build)

    def _places(self, main: Tensor) -> Sequence[int]:
        """Those of a flat row, of any size."""
        return (1,)

    def _run_rings(
        self, kernel: Callable[..., None], scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any],
        rows: Array, chart: Tensor, *arrays: Array,
    ) -> None:  # fmt: skip
        """Call a kernel on all items; the chart is one of the structure's own kernels, and says nothing here."""
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
        main, pairs = (torch.from_numpy(numpy_of(each)) for each in scores)
        each = pairs.repeat_interleave(len(main) // max(len(pairs), 1), 0)
        rows = torch.cat([main.flatten(1), each.flatten(1)], 1)
        return rows.numpy().reshape(*rows.shape, 1, 1)

    def _parted(self, found: Array, scores: Sequence[Tensor], options: Sequence[Any]) -> Scores:
        main, pairs = scores
        count = math.prod(main.shape[1:])
        each = found[:, count:].reshape(len(pairs), len(main) // max(len(pairs), 1), found.shape[1] - count)
        return result(found[:, :count], main), result(each.sum(1), pairs)
