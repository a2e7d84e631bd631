"""Two-column files, as used for BIO entities: a word, a TAB, its tag; blank lines between sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from strukt.data import sentence
from strukt.data.files import Source
from strukt.data.files.blocks import Block, blocks
from strukt.data.files.problems import PLAIN_TEXT, Problem, Report, empty_column, stop
from strukt.data.sentence import Cell, add_note, cells, note_cells

COLUMNS = ("form", "tag", "misc")


class Sentence(sentence.Sentence):
    r"""A sentence of a column file, with 1 to 3 columns: form, tag, and notes such as probabilities.

    Attributes:
        rows: The columns of each line, 1 to 3 for each word.

    Examples:
        >>> from strukt.data.columns import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"Ada\tB-PER\nLovelace\tI-PER\n\n"))
        >>> sentence.forms, sentence.column("tag")
        (['Ada', 'Lovelace'], ['B-PER', 'I-PER'])
    """

    __slots__ = ("rows",)

    def __init__(self, block: Block, rows: list[list[str]]) -> None:
        super().__init__(block)
        self.rows = rows

    @property
    def forms(self) -> list[str]:
        """The words: the first column."""
        return [row[0] for row in self.rows]

    def column(self, name: str) -> list[str]:
        """Return the column "form", "tag" or "misc".

        Raises:
            ValueError: If there is no such column.
            DataError: If a word does not have this column.
        """
        index = _index(name)
        for problem in missing(self, index):
            raise problem.error()
        return [row[index] for row in self.rows]

    def annotated(self, **columns: Sequence[Cell]) -> Sentence:
        r"""Return a copy in which the named columns are replaced, or added if the file does not have them.

        Raises:
            ValueError: If there is no such column, there is not one value for each word, a value cannot be
                written to a file, or a word with notes or spaces has no tag.

        Examples:
            >>> from strukt.data.columns import read
            >>> import io
            >>> [sentence] = read(io.BytesIO(b"Ada\n\n"))
            >>> str(sentence.annotated(tag=["B-PER"]))
            'Ada\tB-PER\n\n'
        """
        rows = [list(row) for row in self.rows]
        for index, name in enumerate(COLUMNS):
            if name in columns:
                for row, text in zip(rows, cells(name, columns[name], len(rows)), strict=True):
                    _put(row, index, text)
        for name in columns:
            _index(name)
        for _, message, remedy in chain.from_iterable(map(_faults, rows)):
            raise ValueError(f"{message}; {remedy}")
        lines = ["\t".join(row) for row in rows]
        return Sentence(replace(self.block, lines=lines), rows)

    def with_misc(self, **values: Sequence[Cell]) -> Sentence:
        """Return a copy with `key=value` in a third column, in place of earlier values of the key.

        Raises:
            ValueError: If a key or value contains `|`, or `annotated` raises it.
        """
        misc = [row[2] if len(row) > 2 else "_" for row in self.rows]
        for key, notes in values.items():
            texts = note_cells(key, notes, len(self.rows))
            misc = [add_note(old, key, text) for old, text in zip(misc, texts, strict=True)]
        return self.annotated(misc=misc)


def read(source: Source) -> Iterator[Sentence]:
    r"""Read a column file lazily: each line has a word, a TAB and its tag; a blank line ends a sentence.

    There are no comments: `#` is an ordinary word. The tag may be missing, as in text to be tagged.

    Everything is kept, also white space in blank lines, except for repairs with a `DataWarning` each: a byte order
    mark and blank lines that end no sentence are dropped, CRLF line ends are read as LF, and a missing blank line
    at the end is added.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read, is empty or is not well-formed. The error names file and line.

    Examples:
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"Ada\tB-PER\nspoke\tO\n\n"))
        >>> sentence.forms, sentence.column("tag")
        (['Ada', 'spoke'], ['B-PER', 'O'])
    """
    for block in blocks(source):
        yield _sentence(block)


def parse(block: Block, report: Report) -> list[list[str]]:
    """Return the columns of each line; problems with the lines go to `report`."""
    rows = [text.split("\t") for text in block.lines]
    for number, row in enumerate(rows, block.line):
        for rule, message, remedy in _faults(row):
            report(Problem(rule, message, remedy, block.path, number))
    return rows


def missing(sentence: Sentence, index: int = 1) -> Iterator[Problem]:
    """Yield a problem for each word without the column at `index`: 1 is the tag, 2 the notes."""
    for number, row in enumerate(sentence.rows, sentence.line):
        if len(row) <= index:
            message = f"the word {row[0]!r} has no {COLUMNS[index]}"
            yield Problem("tag", message, "write it after the word and a TAB", sentence.path, number)


def _faults(row: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the broken rule, the message and the remedy for each fault in the columns of a line."""
    if len(row) > len(COLUMNS):
        yield "column-count", f"expected word and tag, found {len(row)} columns", "keep these two: cut -f1,2 FILE"
    if len(row) == 1 and " " in row[0]:
        remedy = f"put one TAB between the word and its tag; {PLAIN_TEXT}"
        yield "column-count", "the line has spaces but no TAB", remedy
    if fault := empty_column(row):
        yield "empty-column", fault, "write the word, a TAB, and its tag"


def _sentence(block: Block) -> Sentence:
    return Sentence(block, parse(block, stop))


def _index(name: str) -> int:
    if name not in COLUMNS:
        raise ValueError(f"the columns have no {name!r}; choose one of {', '.join(COLUMNS)}")
    return COLUMNS.index(name)


def _put(row: list[str], index: int, text: str) -> None:
    """Set the column of a line at an index, or append it; the columns before it must be present."""
    if index > len(row):
        raise ValueError(f"the word {row[0]!r} has no {COLUMNS[index - 1]}; give that column as well")
    row[index : index + 1] = [text]
