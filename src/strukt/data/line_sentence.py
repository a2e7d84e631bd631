"""The base class of sentences that are one line, which TABs may divide into fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NoReturn

from strukt.data.files.blocks import Block
from strukt.data.sentence import Cell, Sentence, cells


class LineSentence(Sentence):
    """A sentence that is one line, which has no place for notes on single words.

    Attributes:
        plural: Plural noun for such sentences, for messages.
        annotation: Noun for the annotation of the whole sentence, for messages.
    """

    __slots__ = ()
    plural: ClassVar[str]
    annotation: ClassVar[str]

    @property
    def fields(self) -> list[str]:
        """The fields of the line, which TABs separate."""
        return self.block.lines[0].split("\t")

    def field(self, index: int) -> str:
        """Return the field at an index, counted from 0; an empty string if the line has fewer fields."""
        return "".join(self.fields[index : index + 1])

    def block_with(self, *fields: str) -> Block:
        """Return a block with these fields in place of the line, and the same position in the file."""
        return replace(self.block, lines=["\t".join(fields)])

    def column(self, name: str) -> list[str]:
        """Return the column "form"; raise a ValueError for another name."""
        if name != "form":
            raise ValueError(f"{self.plural} have no column {name!r}; choose form, or take the {self.annotation}")
        return self.forms

    def with_misc(self, **values: Sequence[Cell]) -> NoReturn:
        """Raise a ValueError: this format has no place for notes on words."""
        raise ValueError(f"{', '.join(values)}: {self.plural} have no place for notes on words")

    def __str__(self) -> str:
        return self.block.lines[0] + "\n"


def note_fields(notes: Mapping[str, Cell]) -> list[str]:
    """Return notes as fields `key=value`.

    Raises:
        ValueError: If a note cannot be written to a file.

    Examples:
        >>> note_fields({"p": "0.9000"})
        ['p=0.9000']
    """
    return cells("notes", [f"{key}={value}" for key, value in notes.items()], len(notes))
