"""Splitting a file into sentences at blank lines, as CoNLL-U and column files require."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strukt.data.files.problems import Problem, Report, stop
from strukt.data.files.streams import Source, lines, name_of


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

    Two things are repaired and reported: a blank line that ends no sentence is dropped (reported once per file),
    and a missing blank line at the end of the file is added.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem.

    Raises:
        DataError: If the file is empty, or as for `files.lines`.

    Examples:
        >>> import io
        >>> [(block.line, block.lines) for block in blocks(io.BytesIO(b"a\nb\n\nc\n\n"))]
        [(1, ['a', 'b']), (4, ['c'])]
    """
    path = name_of(source)
    pending: list[str] = []
    number, found, said = 0, False, False
    for number, text in enumerate(lines(source, report), 1):
        if text and not text.isspace():
            pending.append(text)
        elif pending:
            found = True
            yield Block(pending, text, path, number - len(pending))
            pending = []
        elif not said:
            said = True
            message = "the blank line ends no sentence"
            report(Problem("blank-line", message, "dropping such lines", path, number, repaired=True))
    if pending:
        message = "the file does not end in a blank line"
        report(Problem("last-blank-line", message, "adding it", path, number, repaired=True))
        yield Block(pending, "", path, number - len(pending) + 1)
    elif not found:
        report(Problem("empty-file", "the file holds no sentence", "give a file with at least one", path))
