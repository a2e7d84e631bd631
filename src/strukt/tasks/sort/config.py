"""The configuration of sorting."""

from __future__ import annotations

from dataclasses import dataclass

from strukt.data import corpus
from strukt.tasks.common.numbers.config import NumberConfig


@dataclass
class Config(NumberConfig):
    """Options of sorting. A corpus has lines of numbers, from which the answers are computed.

    The options are those of `strukt.tasks.common.numbers.config.NumberConfig`.
    """

    summary = "the numbers of a line in ascending order, with attention"
    readers = corpus.TEXTS

    rivalry: float = 4.0
