"""The configuration of counting."""

from __future__ import annotations

from dataclasses import dataclass

from strukt.data import corpus
from strukt.tasks.common.numbers.config import NumberConfig


@dataclass
class Config(NumberConfig):
    """Options of counting; what is learned from and measured on are lines of 0 and 1, whose chunks are counted."""

    summary = "how many chunks of ones a line of zeros and ones has, by attention"
    readers = corpus.TEXTS
