"""The interface of all corpus formats: sentences with words, named columns, and the exact text that was read."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from strukt.data.files.blocks import Block
from strukt.data.files.problems import Problem
from strukt.data.parts import Part
from strukt.shown import Shown

Cell = str | int
"""A value that can be written to a column."""

UNANNOTATED = "_"
"""The tag, head or relation of a word that is not annotated."""

_UNWRITABLE = re.compile("[\t\n\r\0]")

SentenceT = TypeVar("SentenceT", bound="Sentence")


class Sentence(Shown, ABC):
    """A sentence of a corpus; immutable, so annotating returns a copy. Notebooks draw its annotation.

    `str(sentence)` is exactly the text that was read, including a blank line that ends the sentence, so that
    `"".join(str(sentence) for sentence in read(path))` is the file. There are three exceptions: repairs, which are
    reported by warnings; a missing line end at the end of the file, which is added; and plain text, which is
    converted to a format that can be annotated.

    A subclass implements `forms`, `column`, `annotated` and `with_misc`.

    Attributes:
        block: The lines of the sentence, with the name of its file and the number of its first line.

    Examples:
        >>> from strukt.data import conllu
        >>> sentence = conllu.from_forms(["It", "works"])
        >>> tagged = sentence.annotated(upos=["PRON", "VERB"])
        >>> len(tagged), tagged.column("upos"), sentence.column("upos")
        (2, ['PRON', 'VERB'], ['_', '_'])
    """

    __slots__ = ("block",)

    def __init__(self, block: Block) -> None:
        self.block = block

    @property
    def path(self) -> str | None:
        """The file name, for messages; None if the text was not read from a file."""
        return self.block.path

    @property
    def line(self) -> int:
        """The number of the sentence's first line in the file, counted from 1."""
        return self.block.line

    @property
    def forbidden(self) -> list[Part]:
        """The parts of structures that the annotation forbids; empty in formats that cannot forbid any.

        Raises:
            DataError: If the file describes such a part wrongly.
        """
        return []

    def forbidden_problems(self) -> Iterator[Problem]:
        """Yield a problem for each forbidden part that the file describes wrongly."""
        yield from ()

    def forbidding(self: SentenceT, parts: Sequence[Part]) -> SentenceT:  # noqa: ARG002
        """Return a copy whose annotation also forbids some parts of structures.

        Args:
            parts: The parts, in addition to those that are forbidden already.

        Raises:
            ValueError: If the format cannot forbid parts, or parts of this kind, or a part is not one of this
                sentence.
        """
        raise ValueError("parts: this format cannot forbid parts of structures; give CoNLL-U or JSON lines")

    def completed(self: SentenceT, *kinds: str) -> SentenceT:  # noqa: ARG002
        """Return a copy that is not marked as partially annotated, and does not forbid parts of some kinds.

        Predictions are written to such copies, since they take the place of the whole annotation.

        Args:
            kinds: The kinds of the parts, as in `Part`. The mark of partially annotated entities is removed with
                the kind "span".
        """
        return self

    def standing_alone(self: SentenceT) -> SentenceT:
        """Return the sentence in a form that can be read without the earlier sentences of its file."""
        return self

    @property
    @abstractmethod
    def forms(self) -> list[str]:
        """The words in the form of running text."""

    @abstractmethod
    def column(self, name: str) -> list[str]:
        """Return one column of all words, as text.

        Args:
            name: The name of the column; the formats have different columns.

        Raises:
            ValueError: If the format has no column of that name.
            DataError: If the column is missing in this sentence.
        """

    @abstractmethod
    def annotated(self: SentenceT, **columns: Any) -> SentenceT:
        """Return a copy in which the named columns are replaced, and nothing else.

        Annotation that is not a column has its own argument in some formats: `tree`, `entities` or `label`.

        Args:
            columns: By the name of a column, a value for each word.

        Raises:
            ValueError: If there is no such column, there is not one value for each word, or a value cannot be
                written to a file (it is empty or contains a TAB, a line end or NUL).
            DataError: If a head in CoNLL-U is not a number from 0 to the number of words.
        """

    @abstractmethod
    def with_misc(self: SentenceT, **values: Sequence[Cell]) -> SentenceT:
        """Return a copy with a note `key=value` in the last column of each word; notes with other keys are kept.

        Args:
            values: By the key of a note, a value for each word.

        Raises:
            ValueError: If the format has no place for notes on words, a key or value contains `|`, or `annotated`
                raises it.
        """

    def __len__(self) -> int:
        return len(self.forms)

    def __str__(self) -> str:
        return str(self.block)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Sentence) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        place = "" if self.path is None else f", {self.path}:{self.line}"
        kind = type(self).__module__.removeprefix("strukt.data.").partition(".")[0]
        return f"<{kind} sentence of {len(self)} words{place}>"


def cells(name: str, values: Sequence[Cell], count: int) -> list[str]:
    """Check the values to be written to a column, and return them as text.

    Args:
        name: The name of the column, for messages.
        values: The values.
        count: The number of words.

    Raises:
        ValueError: If values is a string, there are not `count` values, or one is empty or contains a TAB, a line
            end or NUL.

    Examples:
        >>> cells("head", [2, 0], 2)
        ['2', '0']
    """
    if isinstance(values, str):
        raise ValueError(f"{name}: got the string {values!r}; give a list with a value for each word")
    texts = [str(value) for value in values]
    if len(texts) != count:
        raise ValueError(f"{name}: got {len(texts)} values for {count} words; give one for each word")
    if not all(texts) or _UNWRITABLE.search("".join(texts)):
        text = next(text for text in texts if not text or _UNWRITABLE.search(text))
        remedy = "give non-empty text without TABs or line ends"
        raise ValueError(f"{name}: {text!r} cannot be written to a column; {remedy}")
    return texts


def note_cells(key: str, values: Sequence[Cell], count: int) -> list[str]:
    """Check the values of a note on each word as `cells` does, and that none contains the separator of notes.

    Raises:
        ValueError: If `cells` raises it, or the key or a value contains `|`.
    """
    texts = cells(key, values, count)
    for text in (key, *texts):
        if "|" in text:
            raise ValueError(f"{key}: {text!r} cannot be in a note; give text without '|', which separates notes")
    return texts


def add_note(misc: str, key: str, value: str) -> str:
    """Return a MISC cell that ends with the note `key=value`, without an earlier note of the same key.

    Examples:
        >>> add_note("SpaceAfter=No", "p", "0.9"), add_note("_", "p", "0.9")
        ('SpaceAfter=No|p=0.9', 'p=0.9')
    """
    kept = [note for note in misc.split("|") if misc != "_" and not note.startswith(f"{key}=")]
    return "|".join([*kept, f"{key}={value}"])
