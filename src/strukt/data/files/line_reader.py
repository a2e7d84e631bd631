"""The reader that the formats of sentences share: numbered lines, blank lines, and files without content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from strukt.data.files.problems import Problem, Report, stop
from strukt.data.files.streams import Source, lines, name_of


def _is_blank(text: str) -> bool:
    """Return True if a line is empty or nothing but white space, that of Unicode included."""
    return not text or text.isspace()


@dataclass
class LineReader:
    r"""The lines of a corpus file and their numbers; a file without content is reported at its end.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem.
        unit: Noun for the units of the file, for messages.
        is_blank: Returns True for a line without content.

    Examples:
        >>> import io
        >>> list(LineReader(io.BytesIO(b"a b\n\nc\n")).filled())
        [(1, 'a b'), (3, 'c')]
    """

    source: Source
    report: Report = stop
    unit: str = "sentence"
    is_blank: Callable[[str], bool] = _is_blank
    _reported_blank: bool = field(default=False, init=False)

    @property
    def path(self) -> str:
        """Name of the file, for messages."""
        return name_of(self.source)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each line, counted from 1, and its text, as `files.lines` returns it."""
        has_content = False
        for number, text in enumerate(lines(self.source, self.report), 1):
            has_content = has_content or not self.is_blank(text)
            yield number, text
        if not has_content:
            message = f"the file holds no {self.unit}"
            self.report(Problem("empty-file", message, "give a file with at least one", self.path))

    def filled(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of the lines that are not blank."""
        return ((number, text) for number, text in self if not self.is_blank(text))

    def drop_blank(self, number: int) -> None:
        """Report, once per file, that blank lines which belong to no `unit` are dropped."""
        if not self._reported_blank:
            self._reported_blank = True
            message = f"the blank line belongs to no {self.unit}"
            self.report(
                Problem("blank-line", message, "dropping such lines", self.path, number, repaired=True)
            )
