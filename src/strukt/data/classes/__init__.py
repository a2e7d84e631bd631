"""Labelled sentences (text classification), independent of the format."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from strukt.data import sentence
from strukt.data.files.problems import Problem
from strukt.data.sentence import Cell


class Sentence(sentence.Sentence):
    """A sentence that may have a class.

    A subclass also implements `label`.

    Attributes:
        remedy: Advice on how to add a missing class, for messages.
    """

    __slots__ = ()
    remedy: ClassVar[str]

    @property
    @abstractmethod
    def label(self) -> str | None:
        """The class; None if the sentence has none."""

    def problems(self) -> Iterator[Problem]:
        """Yield a problem if the sentence has no class."""
        if self.label is None:
            yield missing(self)

    @abstractmethod
    def annotated(self, *, label: str | None = None, **notes: Cell) -> Sentence:
        """Return a copy with this class, and with notes `key=value`; if the class is None, it stays as it is.

        Raises:
            ValueError: If the class or a note cannot be written to a file.
        """


def missing(sentence: Sentence) -> Problem:
    """Return the problem that a sentence has no class."""
    return Problem("label", "the sentence has no class", sentence.remedy, sentence.path, sentence.line)
