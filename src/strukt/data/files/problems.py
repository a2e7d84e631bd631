"""Problems in files, and ways to report them: stop at the first problem, or collect them all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strukt.errors import DataError


class DataWarning(UserWarning):
    r"""A file was repaired while it was read, or sentences are left out or long; the message says where and how.

    Examples:
        >>> import io, warnings
        >>> from strukt.data import conllu
        >>> windows = io.BytesIO(b"1\tStop\t_\t_\t_\t_\t_\t_\t_\t_\r\n\r\n")
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", DataWarning)
        ...     list(conllu.read(windows))
        Traceback (most recent call last):
        strukt.data.files.problems.DataWarning: <stream>:1: the lines end in CRLF; reading and writing them as LF
    """


@dataclass(frozen=True)
class Problem:
    """A problem in a file.

    Attributes:
        rule: Short name of the broken rule, such as `column-count`.
        message: The fault and what was expected.
        remedy: How to fix it; for a repaired problem, what was done about it.
        path: The file, if the text comes from one.
        line: The line number, counted from 1; None if the problem concerns the whole file.
        repaired: Whether reading continues with a repaired text.

    Examples:
        >>> print(Problem("head", "HEAD is 9 in a sentence of 3 words", "use 0 to 3", "a.conllu", 7))
        a.conllu:7: HEAD is 9 in a sentence of 3 words; use 0 to 3
    """

    rule: str
    message: str
    remedy: str
    path: str | None = None
    line: int | None = None
    repaired: bool = False

    @property
    def kind(self) -> tuple[str, bool]:
        """The rule, and whether the problem was repaired."""
        return self.rule, self.repaired

    def error(self) -> DataError:
        """Return the problem as an exception."""
        return DataError(f"{self.message}; {self.remedy}", self.path, self.line)

    def __str__(self) -> str:
        return str(self.error())


PLAIN_TEXT = "if this is plain text to annotate, give the format text (on the command line, --format text)"
"""The remedy if a line was expected to have columns, brackets or a JSON object, but has none."""

CONVERT = "run `strukt convert` on columns as in CoNLL-2003, and on tags in a scheme other than BIO"
"""The remedy if a line may be valid, but its columns or tags can be read only after a conversion."""

Report = Callable[[Problem], None]
"""Callback for problems. It may raise, or return to let the reader continue."""


def stop(problem: Problem) -> None:
    """Report problems as ordinary reading does: warn if the problem was repaired, otherwise raise.

    Raises:
        DataError: If the problem was not repaired.
    """
    if not problem.repaired:
        raise problem.error()
    warnings.warn(str(problem), DataWarning, stacklevel=2)


def empty_column(row: Sequence[str]) -> str | None:
    r"""Describe the first column of a line that is empty or nothing but white space; None if there is none.

    White space alone cannot be a word: a line with such a word and no tag would be blank.

    Examples:
        >>> empty_column(["Ada", ""]), empty_column(["\u2003", "O"]), empty_column(["New York", "B-LOC"])
        ('column 2 is empty', "column 1 holds only white space ('\\u2003')", None)
    """
    for number, cell in enumerate(row, 1):
        if not cell or cell.isspace():
            return f"column {number} " + (f"holds only white space ({cell!r})" if cell else "is empty")
    return None
