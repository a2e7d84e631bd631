"""Reverse dictionary: the word that a definition defines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strukt.data import corpus
from strukt.tasks import classify

if TYPE_CHECKING:
    from strukt.tasks.reverse_dictionary import ReverseDictionary

SUMMARY = "the word that a definition defines"
READERS = corpus.CLASSES


@dataclass
class Config(classify.Config):
    """Options of the reverse dictionary, whose corpus has a word, a TAB and a definition of it on each line.

    The words to choose from are those of the training corpus.
    """


def model_class() -> type[ReverseDictionary]:
    """The model of this task."""
    from strukt.tasks.reverse_dictionary import ReverseDictionary

    return ReverseDictionary
