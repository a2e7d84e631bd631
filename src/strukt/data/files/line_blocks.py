"""Files with one sentence per line: their lines, and the base class of their sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NoReturn, TypeVar

from strukt.data.files.blocks import Block
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.files.streams import Source, lines, name_of
from strukt.data.sentence import Cell, Sentence

SentenceT = TypeVar("SentenceT", bound=Sentence)


class LineSentence(Sentence):
    """A sentence on a line of its own, which has no place for notes on single words.

    Attributes:
        plural: Plural noun for such sentences, used in messages.
    """

    __slots__ = ()
    plural: ClassVar[str]

    def with_misc(self, **values: Sequence[Cell]) -> NoReturn:
        """Raise a ValueError: this format has no place for notes on words.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"{', '.join(values)}: {self.plural} have no place for notes on words")

    def __str__(self) -> str:
        return self.block.lines[0] + "\n"


class Faulty(Exception):  # noqa: N818
    """A line is malformed; has a message and a remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def line_blocks(source: Source, report: Report = stop) -> Iterator[Block]:
    r"""Yield each non-blank line as soon as it has been read.

    Blank lines are dropped; this is reported once per file.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem.

    Raises:
        DataError: If the file is empty, or as for `files.lines`.

    Examples:
        >>> import io
        >>> [(block.line, block.lines) for block in line_blocks(io.BytesIO(b"a b\nc\n"))]
        [(1, ['a b']), (2, ['c'])]
    """
    path = name_of(source)
    said = found = False
    for number, text in enumerate(lines(source, report), 1):
        if text and not text.isspace():
            found = True
            yield Block([text], "", path, number)
        elif not said:
            said = True
            message = "the blank line holds no sentence"
            report(Problem("blank-line", message, "dropping such lines", path, number, repaired=True))
    if not found:
        report(Problem("empty-file", "the file holds no sentence", "give a file with at least one", path))


def parsed(
    source: Source, report: Report, rule: str, parse: Callable[[Block], SentenceT]
) -> Iterator[SentenceT]:
    """Yield the sentences of a file, line by line; if `report` returns, the faulty sentence is left out.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem.
        rule: Name of the rule to report if `parse` raises `Faulty`.
        parse: Makes a sentence from a line.

    Raises:
        DataError: As for `line_blocks`.
    """
    for block in line_blocks(source, report):
        try:
            yield parse(block)
        except Faulty as error:
            report(Problem(rule, error.message, error.remedy, block.path, block.line))
