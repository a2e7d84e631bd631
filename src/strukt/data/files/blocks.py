"""Splitting a file into sentences at blank lines, as CoNLL-U and column files require."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strukt.data.files.line_reader import LineReader
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.files.streams import Source


@dataclass(frozen=True)
class Block:
    r"""The lines of one sentence and the blank line that ends it.

    Attributes:
        lines: The lines without their line ends; never empty.
        end: The blank line: empty, or the white space that some files have there.
        path: The file, or None if the text was not read from a file.
        line: Number of the first line, counted from 1.

    Examples:
        >>> str(Block(["1 It", "2 works"]))
        '1 It\n2 works\n\n'
    """

    lines: list[str]
    end: str = ""
    path: str | None = None
    line: int = 1

    def __str__(self) -> str:
        return "\n".join([*self.lines, self.end, ""])


def blocks(source: Source, report: Report = stop) -> Iterator[Block]:
    r"""Yield each sentence of a file as soon as the blank line after it has been read.

    Two things are repaired and reported: a blank line that belongs to no sentence is dropped (reported once per
    file), and a missing blank line at the end of the file is added.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem.

    Raises:
        DataError: If `files.lines` raises it; with the default report, also if the file is empty.

    Examples:
        >>> import io
        >>> [(block.line, block.lines) for block in blocks(io.BytesIO(b"a\nb\n\nc\n\n"))]
        [(1, ['a', 'b']), (4, ['c'])]
    """
    reader = LineReader(source, report)
    pending: list[str] = []
    number = 0
    for number, text in reader:
        if not reader.is_blank(text):
            pending.append(text)
        elif pending:
            yield Block(pending, text, reader.path, number - len(pending))
            pending = []
        else:
            reader.drop_blank(number)
    if pending:
        message = "the file does not end in a blank line"
        report(Problem("last-blank-line", message, "adding it", reader.path, number, repaired=True))
        yield Block(pending, "", reader.path, number - len(pending) + 1)
