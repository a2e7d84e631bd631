"""Structures that are nothing but a table, on the CPU."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels.engine.backend import RowBackend
from strukt.kernels.table import programs


class Uses(RowBackend):
    """A table whose events say of each weight whether it is used."""

    def __init__(self) -> None:
        super().__init__(programs.build, programs.cells, scores=1)

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        events, scores = super().kbest(*arguments)
        return _marked(events, scores), scores

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        events, log_partition = super().sample(*arguments)
        return _marked(events, log_partition.unsqueeze(-1)), log_partition


def _marked(events: Tensor, scores: Tensor) -> Tensor:
    """1 where a weight is named and 0 where none is, in structures that there are; -1 in others."""
    return (events >= 0).long().masked_fill((scores == -float("inf")).unsqueeze(-1), -1)


TABLE = Uses()
