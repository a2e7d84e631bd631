"""User-defined table programs on the CPU."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels.engine.backend import RowBackend
from strukt.structures.table_structure import programs


class Uses(RowBackend):
    """The backend of table programs; an event is 1 for each weight that is used, and 0 for others."""

    def __init__(self) -> None:
        super().__init__(programs.build, programs.cells, scores=1)

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        events, scores = super().kbest(*arguments)
        return programs.only_where_possible((events >= 0).long(), scores), scores

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        events, log_partition = super().sample(*arguments)
        marked = (events >= 0).long()
        return programs.only_where_possible(marked, log_partition.unsqueeze(-1)), log_partition


TABLE = Uses()
