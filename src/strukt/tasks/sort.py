"""Sorting: the numbers of a line from the smallest to the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strukt.data import corpus
from strukt.tasks.number_config import NumberConfig

if TYPE_CHECKING:
    from strukt.tasks.sorter import Sorter

SUMMARY = "the numbers of a line from the smallest to the largest, by attention"
READERS = corpus.TEXTS


@dataclass
class Config(NumberConfig):
    """Options of sorting; what is learned from and measured on are lines of numbers, whose order is known."""

    rivalry: float = 4.0


def model_class() -> type[Sorter]:
    """The model of this task."""
    from strukt.tasks.sorter import Sorter

    return Sorter
