"""What can be wrong with a file, and the ways to hear of it: stop at the first problem, or collect all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from strukt.errors import DataError


class DataWarning(UserWarning):
    """A file was repaired while it was read; the message says where and how."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a file.

    Attributes:
        rule: Short name of the broken rule, such as `column-count`.
        message: What was found and what was expected.
        remedy: How to mend it, or for a repaired problem what was done about it.
        path: The file, if the text comes from one.
        line: The line in it, counted from 1; None if the problem is the file itself.
        repaired: Whether reading goes on with a repaired text.

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

    def error(self) -> DataError:
        """The same as an exception."""
        return DataError(f"{self.message}; {self.remedy}", self.path, self.line)

    def __str__(self) -> str:
        return str(self.error())


PLAIN_TEXT = "if this is plain text to annotate, run `strukt predict` with --format text"
"""The remedy where a line without columns, brackets or objects is read as if it had some."""

CONVERT = "run `strukt convert` on columns as in CoNLL-2003, and on tags of another scheme than BIO"
"""The remedy where a line may be right, but of columns or tags that are read after a conversion alone."""

Report = Callable[[Problem], None]
"""Where a reader tells its problems. It may raise, or return to have the reader go on."""


def stop(problem: Problem) -> None:
    """The `Report` of ordinary reading: a repaired problem is a warning, any other ends the reading.

    Raises:
        DataError: The problem was not repaired.
    """
    if not problem.repaired:
        raise problem.error()
    warnings.warn(str(problem), DataWarning, stacklevel=2)
