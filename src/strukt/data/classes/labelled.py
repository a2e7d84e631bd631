"""Labelled sentences, one per line: the class, a TAB, the words separated by white space, an optional note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from strukt.data import classes, text
from strukt.data.files import Source
from strukt.data.files.blocks import Block
from strukt.data.files.line_blocks import Faulty, LineSentence, parsed
from strukt.data.files.problems import Report, stop
from strukt.data.sentence import Cell, cells


class Sentence(LineSentence, classes.Sentence):
    r"""A line such as `positive TAB a gorgeous film`; text to be classified has no class and no TAB.

    Examples:
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"negative\ttoo tepid\n"))
        >>> sentence.label, sentence.forms
        ('negative', ['too', 'tepid'])
        >>> str(sentence.annotated(label="positive", p="0.9000"))
        'positive\ttoo tepid\tp=0.9000\n'
    """

    __slots__ = ()
    plural: ClassVar[str] = "sentences of classes"
    remedy: ClassVar[str] = "write it before the words, and a TAB"

    @property
    def forms(self) -> list[str]:
        """The words."""
        columns = self._columns
        return columns[min(1, len(columns) - 1)].split()

    @property
    def label(self) -> str | None:
        """The class, if the sentence has one."""
        columns = self._columns
        return columns[0] if len(columns) > 1 else None

    def column(self, name: str) -> list[str]:
        """Return the column "form"; there is no other.

        Raises:
            ValueError: If another name was given.
        """
        if name != "form":
            raise ValueError(
                f"sentences of classes have no column {name!r} of words; choose form, or take the label"
            )
        return self.forms

    def annotated(self, *, label: str | None = None, **notes: Cell) -> Sentence:
        """Return a copy with this class, and with notes `key=value` after the words.

        Raises:
            ValueError: If the class or a note cannot be written to a file.
        """
        label = self.label if label is None else label
        if label is None:
            raise ValueError("label: the sentence has no class; give one")
        words = self._columns[min(1, len(self._columns) - 1)]
        said = [f"{key}={value}" for key, value in notes.items()]
        line = "\t".join([*cells("label", [label], 1), words, *cells("notes", said, len(said))])
        return Sentence(Block([line], "", self.path, self.line))

    @property
    def _columns(self) -> list[str]:
        return self.block.lines[0].split("\t")


def read(source: Source, report: Report = stop) -> Iterator[Sentence]:
    """Read sentences with their classes lazily and losslessly; text to be classified has none.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, the sentence is left out.

    Raises:
        DataError: If the file cannot be read, is empty, or a line is malformed. The error names file and line.
    """
    return parsed(source, report, "label", _sentence)


def read_text(source: Source) -> Iterator[Sentence]:
    """Read plain text lazily, one sentence per line, ready to be classified.

    Raises:
        DataError: If the file cannot be read, is not UTF-8 text, or has no sentences.
    """
    for found in text.read(source):
        yield Sentence(Block([" ".join(found.forms)], "", found.path, found.line))


def _sentence(block: Block) -> Sentence:
    found = Sentence(block)
    if found.label == "":
        raise Faulty("the class is empty", "write it before the TAB")
    if not found.forms:
        raise Faulty("there are no words", "write them behind the TAB")
    return found
