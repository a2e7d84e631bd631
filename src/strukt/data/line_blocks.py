"""Files with one sentence a line: their lines, and what their sentences have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NoReturn, TypeVar

from strukt.data.blocks import Block
from strukt.data.files import Source, lines, name_of
from strukt.data.problems import Problem, Report, stop
from strukt.data.sentence import Cell, Sentence

SentenceT = TypeVar("SentenceT", bound=Sentence)


class LineSentence(Sentence):
    """A sentence on a line of its own, in which there is no room for notes on single words.

    Attributes:
        plural: What such sentences are called in messages.
    """

    __slots__ = ()
    plural: ClassVar[str]

    def with_misc(self, **values: Sequence[Cell]) -> NoReturn:
        """There is no place for notes on words.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"{', '.join(values)}: {self.plural} have no place for notes on words")

    def __str__(self) -> str:
        return self.block.lines[0] + "\n"


class Faulty(Exception):  # noqa: N818
    """What is wrong with a line, and how to mend it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def line_blocks(source: Source, report: Report = stop) -> Iterator[Block]:
    r"""Yields each line that is not blank as soon as it has been read.

    Blank lines are dropped, which is reported once per file.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Where problems go.

    Raises:
        DataError: The file is empty, or as `files.lines`.

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
    """The sentences of a file, line by line; those with a problem are left out, if `report` returns.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Where problems go.
        rule: The name of the rule that a line breaks for which `parse` raises `Faulty`.
        parse: Makes a sentence of a line.

    Raises:
        DataError: As `line_blocks`.
    """
    for block in line_blocks(source, report):
        try:
            yield parse(block)
        except Faulty as error:
            report(Problem(rule, error.message, error.remedy, block.path, block.line))
