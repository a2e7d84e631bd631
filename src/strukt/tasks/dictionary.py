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

    Args:
        vectors: A file of vectors of words, as of GloVe. A definition is then read as a vector, to be near that of
            its word, and all words of the file are ranked by their cosine with it, be they defined in the training
            corpus or not. Without one the words to choose from are those of the training corpus, by probability.
    """

    vectors: str = ""


def model_class() -> type[ReverseDictionary]:
    """The model of this task."""
    from strukt.tasks.reverse_dictionary import ReverseDictionary

    return ReverseDictionary
