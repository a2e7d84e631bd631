"""Transducers on GPUs, as a table program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.rounding import Up, rounded
from strukt.kernels.engine.gpu.structures import Rows
from strukt.structures.transducer import forward


class Paths(Rows):
    """The table program as a GPU backend, with one tensor of scores and a second length for each item."""

    def __init__(self) -> None:
        super().__init__(forward.build, lambda m, shape: forward.cells(shape), scores=1, power=2)

    def _shapes(self, scores: Sequence[Tensor], up: Up = rounded) -> Sequence[Sequence[int]]:
        _, n, columns, moves = scores[0].shape
        return [(up(n), up(columns), moves)]

    def _sizes(self, scores: Sequence[Tensor], options: Sequence[Any], up: Up = rounded) -> Sequence[Any]:
        (shape,) = self._shapes(scores, up)
        return shape[0], shape[1] - 1, shape

    def _terms(self, main: Tensor, options: Sequence[Any]) -> int:
        return 2 * main[0].numel()

    def _index(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> Tensor:
        """Return the index of each item's size in `Program.ends`, ``(batch,)``; -1 for neither frames nor labels.

        Index 0 is that of labels without frames, which have no path.
        """
        (labels,) = options
        index = 1 + (lengths - 1) * self._shapes(scores)[0][1] + labels
        return torch.where(lengths == 0, torch.where(labels == 0, -1, 0), index)


TABLE = Paths()
