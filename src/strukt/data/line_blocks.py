"""Cutting a file with one sentence a line into its lines."""

from __future__ import annotations

from collections.abc import Iterator

from strukt.data.blocks import Block
from strukt.data.files import Source, lines, name_of
from strukt.data.problems import Problem, Report, stop


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
