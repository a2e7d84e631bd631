"""Files with one sentence per line: the lines as blocks, and sentences parsed from the blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from strukt.data.files.blocks import Block
from strukt.data.files.line_reader import LineReader
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.files.streams import Source

Parsed = TypeVar("Parsed")


class LineError(Exception):
    """A line is malformed.

    Attributes:
        message: The fault.
        remedy: How to fix it.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def line_blocks(source: Source, report: Report = stop) -> Iterator[Block]:
    r"""Yield each non-blank line as a block, as soon as it has been read.

    Blank lines are dropped; this is reported once per file.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem.

    Raises:
        DataError: If `files.lines` raises it; with the default report, also if the file is empty.

    Examples:
        >>> import io
        >>> [(block.line, block.lines) for block in line_blocks(io.BytesIO(b"a b\nc\n"))]
        [(1, ['a b']), (2, ['c'])]
    """
    reader = LineReader(source, report)
    for number, text in reader:
        if reader.is_blank(text):
            reader.drop_blank(number)
        else:
            yield Block([text], "", reader.path, number)


def text_blocks(source: Source) -> Iterator[Block]:
    r"""Yield each line of plain text that has words as a block, with single spaces between the words.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file has no words, or if `files.lines` raises it.

    Examples:
        >>> import io
        >>> [(block.line, block.lines) for block in text_blocks(io.BytesIO(b"It  works .\n\nWell .\n"))]
        [(1, ['It works .']), (3, ['Well .'])]
    """
    reader = LineReader(source)
    for number, text in reader.filled():
        yield Block([" ".join(text.split())], "", reader.path, number)


def parsed(source: Source, report: Report, rule: str, parse: Callable[[Block], Parsed]) -> Iterator[Parsed]:
    """Yield the sentences of a file, line by line; if `report` returns, a faulty line is left out.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem.
        rule: Name of the rule to report if `parse` raises `LineError`.
        parse: Makes a sentence from a line.

    Raises:
        DataError: If `line_blocks` or `report` raises it.
    """
    for block in line_blocks(source, report):
        try:
            sentence = parse(block)
        except LineError as error:
            report(Problem(rule, error.message, error.remedy, block.path, block.line))
        else:
            yield sentence
