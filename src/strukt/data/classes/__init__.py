"""Labelled sentences (text classification), independent of the format."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from strukt.data import sentence
from strukt.data.files.problems import Problem
from strukt.data.sentence import Cell


class Sentence(sentence.Sentence):
    r"""A sentence that may have a class.

    A subclass also implements `label`.

    Attributes:
        remedy: Advice on how to add a missing class, for messages.

    Examples:
        >>> import io
        >>> from strukt.data.classes import labelled
        >>> [sentence] = labelled.read_text(io.BytesIO(b"too tepid\n"))
        >>> sentence.label, sentence.annotated(label="negative").label
        (None, 'negative')
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
        """Return a copy with another class, and with notes `key=value`.

        Args:
            label: The class; None to keep the present one.
            notes: The values of the notes by key, such as probabilities.

        Raises:
            ValueError: If the class or a note cannot be written to a file.
        """


def missing(sentence: Sentence) -> Problem:
    """Return the problem that a sentence has no class."""
    return Problem("label", "the sentence has no class", sentence.remedy, sentence.path, sentence.line)
