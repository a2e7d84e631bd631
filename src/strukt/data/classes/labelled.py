"""Labelled sentences, one per line: the class, a TAB, the words separated by white space, an optional note."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from strukt.data import classes
from strukt.data.files import Source
from strukt.data.files.blocks import Block
from strukt.data.files.line_blocks import LineError, parsed, text_blocks
from strukt.data.files.problems import Report, stop
from strukt.data.line_sentence import LineSentence, note_fields
from strukt.data.sentence import Cell, cells


class Sentence(LineSentence, classes.Sentence):
    r"""A line such as `positive TAB a gorgeous film`; text to be classified has no class and no TAB.

    Examples:
        >>> from strukt.data.classes.labelled import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"negative\ttoo tepid\n"))
        >>> sentence.label, sentence.forms
        ('negative', ['too', 'tepid'])
        >>> str(sentence.annotated(label="positive", p="0.9000"))
        'positive\ttoo tepid\tp=0.9000\n'
    """

    __slots__ = ()
    plural: ClassVar[str] = "labelled sentences"
    annotation: ClassVar[str] = "label"
    remedy: ClassVar[str] = "write it before the words, and a TAB"

    @property
    def forms(self) -> list[str]:
        """The words of the sentence, without its class."""
        return self._text.split()

    @property
    def label(self) -> str | None:
        """The class; None if the sentence has none."""
        fields = self.fields
        return fields[0] if len(fields) > 1 else None

    def annotated(self, *, label: str | None = None, **notes: Cell) -> Sentence:
        """Return a copy with the class `label`, or the present one if None, and with `notes` after the words.

        Earlier notes are removed.

        Raises:
            ValueError: If there is no class, or the class or a note cannot be written to a file.
        """
        label = self.label if label is None else label
        if label is None:
            raise ValueError("label: the sentence has no class; give one")
        return Sentence(self.block_with(*cells("label", [label], 1), self._text, *note_fields(notes)))

    @property
    def _text(self) -> str:
        """The words as they are written: the second field, or the only one."""
        return self.fields[:2][-1]


def read(source: Source, report: Report = stop) -> Iterator[Sentence]:
    r"""Read sentences with their classes lazily and losslessly; sentences to be classified have none.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, a malformed sentence is left out.

    Raises:
        DataError: If the file cannot be opened. With the default report, also if it cannot be read to its end, is
            empty, or a line is malformed. The error names file and line.

    Examples:
        >>> import io
        >>> [(sentence.label, sentence.forms) for sentence in read(io.BytesIO(b"negative\ttoo tepid\n"))]
        [('negative', ['too', 'tepid'])]
    """
    return parsed(source, report, "label", _sentence)


def read_text(source: Source) -> Iterator[Sentence]:
    r"""Read plain text lazily, ready to be classified: one sentence per line, words separated by white space.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read, is not UTF-8 text, or has no sentences.

    Examples:
        >>> import io
        >>> [sentence.forms for sentence in read_text(io.BytesIO(b"too\ttepid\n"))]
        [['too', 'tepid']]
    """
    for block in text_blocks(source):
        yield Sentence(replace(block, lines=[line.replace("\t", " ") for line in block.lines]))


def _sentence(block: Block) -> Sentence:
    """Parse a line; raise `LineError` if it is malformed."""
    sentence = Sentence(block)
    if any(note and "=" not in note for note in sentence.fields[2:]):
        message = f"expected class and words, found {len(sentence.fields)} columns"
        raise LineError(message, "separate these by one TAB; only notes key=value may follow")
    if sentence.label == "":
        raise LineError("the class is empty", "write it before the TAB")
    if not sentence.forms:
        raise LineError("there are no words", "write them after the TAB")
    return sentence
