"""The configuration of sorting."""

from __future__ import annotations

from dataclasses import dataclass

from strukt.data import corpus
from strukt.tasks.common.numbers.config import NumberConfig


@dataclass
class Config(NumberConfig):
    """Options of sorting; what is learned from and measured on are lines of numbers, whose order is known."""

    summary = "the numbers of a line from the smallest to the largest, by attention"
    readers = corpus.TEXTS

    rivalry: float = 4.0
