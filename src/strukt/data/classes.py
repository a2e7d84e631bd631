"""Sentences that are each of a class, whatever the format."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from strukt.data import sentence
from strukt.data.problems import Problem
from strukt.data.sentence import Cell


class Sentence(sentence.Sentence):
    """A sentence that may have a class.

    Attributes:
        remedy: How to give one to it.
    """

    __slots__ = ()
    remedy: ClassVar[str]

    @property
    @abstractmethod
    def label(self) -> str | None:
        """The class, if the sentence has one."""

    def problems(self) -> Iterator[Problem]:
        """What is wrong with it: that it has no class."""
        if self.label is None:
            yield missing(self)

    @abstractmethod
    def annotated(self, *, label: str | None = None, **notes: Cell) -> Sentence:
        """A copy of this class, with notes `key=value` on it.

        Raises:
            ValueError: The class or a note cannot stand in a file.
        """


def missing(sentence: Sentence) -> Problem:
    """That a sentence has no class."""
    return Problem("label", "the sentence has no class", sentence.remedy, sentence.path, sentence.line)
