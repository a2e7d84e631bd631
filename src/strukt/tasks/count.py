"""Counting: how many chunks of ones a line of zeros and ones has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strukt.data import corpus
from strukt.tasks.number_config import NumberConfig

if TYPE_CHECKING:
    from strukt.tasks.chunk_counter import ChunkCounter

SUMMARY = "how many chunks of ones a line of zeros and ones has, by attention"
READERS = corpus.TEXTS


@dataclass
class Config(NumberConfig):
    """Options of counting; what is learned from and measured on are lines of 0 and 1, whose chunks are counted."""


def model_class() -> type[ChunkCounter]:
    """The model of this task."""
    from strukt.tasks.chunk_counter import ChunkCounter

    return ChunkCounter
