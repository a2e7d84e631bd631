"""The configuration of counting."""

from __future__ import annotations

from dataclasses import dataclass

from strukt.data import corpus
from strukt.tasks.common.numbers.config import NumberConfig


@dataclass
class Config(NumberConfig):
    """Options of counting. A corpus has lines of zeros and ones, from which the answers are computed.

    The options are those of `strukt.tasks.common.numbers.config.NumberConfig`.
    """

    summary = "the number of chunks of ones in a line of zeros and ones, with attention"
    readers = corpus.TEXTS
