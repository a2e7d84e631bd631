"""The configuration of the reverse dictionary."""

from __future__ import annotations

from dataclasses import dataclass

from strukt.tasks import classify


@dataclass
class Config(classify.Config):
    """Options of the reverse dictionary; each line of a corpus has a word, a TAB and a definition.

    Args:
        vectors: File of word vectors, such as GloVe. The vector of a definition is then trained to be close to
            the vector of its word, and all words of the file are ranked by cosine similarity. If empty, the words
            that the training corpus defines are ranked by probability.
    """

    summary = "the word that a definition defines"
    files = ("vectors",)

    vectors: str = ""
