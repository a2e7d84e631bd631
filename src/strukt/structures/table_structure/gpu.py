"""User-defined table programs on GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from strukt.kernels.arrays import are_distinct
from strukt.kernels.engine.gpu.backend import MOST_TERMS
from strukt.kernels.engine.gpu.rounding import Up, rounded
from strukt.kernels.engine.gpu.structures import Rows
from strukt.kernels.engine.gpu.values import Namer
from strukt.kernels.engine.program import COUNT, WEIGHT
from strukt.structures.table_structure import programs


class Uses(Rows):
    """The backend of table programs; an event is 1 for each weight that is used, and 0 for others."""

    def __init__(self) -> None:
        super().__init__(programs.build, programs.cells, scores=1, power=1)

    def best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        events, scores = super().best(*arguments)
        return programs.only_where_possible(events, scores), scores

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        events, scores = super().kbest(*arguments)
        return programs.only_where_possible(events, scores), scores

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        events, log_partition = super().sample(*arguments)
        return programs.only_where_possible(events, log_partition.unsqueeze(-1)), log_partition

    def _sizes(self, scores: Sequence[Tensor], options: Sequence[Any], up: Up = rounded) -> Sequence[Any]:
        return (len(programs.get(options[0]).ends), *options, tuple(scores[0].shape[1:]))

    def _terms(self, main: Tensor, options: Sequence[Any]) -> int:
        """Return the number of terms; if two sums share a weight, a number too large for a kernel."""
        rows = programs.get(options[0]).rows
        weights = rows[rows[:, WEIGHT] >= 0, WEIGHT]
        return int(rows[:, COUNT].sum()) if are_distinct(weights) else MOST_TERMS + 1

    def _events(self, used: Tensor, scores: Sequence[Tensor], options: Sequence[Any], namer: Namer) -> Tensor:
        return (used > 0).long()


TABLE = Uses()
