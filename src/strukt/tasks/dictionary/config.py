"""The configuration of the reverse dictionary."""

from __future__ import annotations

from dataclasses import dataclass

from strukt.tasks import classify


@dataclass
class Config(classify.Config):
    """Options of the reverse dictionary, whose corpus has a word, a TAB and a definition of it on each line.

    Args:
        vectors: A file of vectors of words, as of GloVe. A definition is then read as a vector, to be near that of
            its word, and all words of the file are ranked by their cosine with it, be they defined in the training
            corpus or not. Without one the words to choose from are those of the training corpus, by probability.
    """

    summary = "the word that a definition defines"

    vectors: str = ""
