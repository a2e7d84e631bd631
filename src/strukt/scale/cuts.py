"""Positions at which a file can be cut between two sentences, so that its pieces can be read on their own."""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Callable, Mapping
from typing import IO, Any

from typing_extensions import override

from strukt.data import brackets
from strukt.data.conllu import entity_notes
from strukt.data.corpus import Readers
from strukt.data.files import LONGEST_LINE
from strukt.data.files.digests import explained

Boundary = Callable[[bytes, bytes], bool]
"""A function of two adjacent lines that returns True if a sentence may begin with the second."""

_GZIP = b"\x1f\x8b"
# The beginning of a tree: a bracket and the label of a root, or two brackets.
_TREE = re.compile(rf"\((?:{'|'.join(brackets.TOPS)})(?:[\s(]|$)|\(\s*\(".encode())


def _after_blank(before: bytes, line: bytes) -> bool:  # noqa: ARG001
    """Return True after a blank line."""
    return not before.strip()


def _before_tree(before: bytes, line: bytes) -> bool:
    """Return True after a blank line, and if a tree begins with ``line``."""
    return not before.strip() or _TREE.match(line) is not None


def _anywhere(before: bytes, line: bytes) -> bool:  # noqa: ARG001
    """Return True: each line is a sentence."""
    return True


BOUNDARIES: Mapping[str, Boundary] = {
    "conllu": _after_blank,
    "columns": _after_blank,
    "brackets": _before_tree,
}
"""The boundary of each format whose sentences have several lines."""


def cuts(path: str | os.PathLike[str], format: str, readers: Readers, size: int) -> list[int]:
    r"""Return the byte positions at which the pieces of a file begin, and the end of the file.

    Each piece holds at least one sentence, unless the file has none. All pieces except the last have at least
    ``size`` bytes, and end with the sentence that reaches this size. Only lines around each cut are read: the time
    depends on the number of pieces, not on the size of the file. Files that cannot be read from the middle are a
    single piece: compressed files, and CoNLL-U with entities, whose identifiers refer to other sentences.

    Args:
        path: The file to cut.
        format: The format of the file, such as ``conllu``. In formats without an entry in `BOUNDARIES`, each line
            is a sentence.
        readers: The readers of the model, by format.
        size: Minimum size of a piece in bytes.

    Raises:
        DataError: If the file cannot be read.

    Examples:
        >>> import tempfile
        >>> from strukt.data.corpus import WORDS
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     file.write(b"a b\nc\n\nd\n") and file.flush()
        ...     cuts(file.name, "text", WORDS, 1)
        [0, 4, 7, 9]
    """
    with explained(path, "read"), open(path, "rb") as stream:
        end = os.fstat(stream.fileno()).st_size
        if stream.peek(2)[:2] == _GZIP or readers.get(format) is entity_notes.read:
            return [0, end]
        begins = [0]
        boundary = BOUNDARIES.get(format, _anywhere)
        position = max(size, _end_of_first_content(stream))
        while (cut := _next(stream, position, boundary)) is not None:
            begins.append(cut)
            position = cut + size
    return [*begins, end]


def _end_of_first_content(stream: IO[bytes]) -> int:
    """Return the position after the first line that is not blank and does not begin with a byte order mark."""
    while (line := stream.readline(LONGEST_LINE)) and not _begins(line):
        pass
    return stream.tell()


def _next(stream: IO[bytes], position: int, boundary: Boundary) -> int | None:
    """Return the position of the first sentence that begins at or after ``position``; None if there is none."""
    stream.seek(position - 1)
    before = b"." + stream.readline(LONGEST_LINE)  # the line may have content before the position
    start = stream.tell()
    while line := stream.readline(LONGEST_LINE):
        if before.endswith(b"\n") and _begins(line) and boundary(before, line):
            return start
        before, start = line, stream.tell()
    return None


def _begins(line: bytes) -> bool:
    """Return True if a piece may begin with this line: it is not blank and has no byte order mark."""
    return bool(line.decode("utf-8", "replace").strip()) and not line.startswith(codecs.BOM_UTF8)


class Piece(io.RawIOBase):
    """A readable binary stream over a range of bytes of a file; closing it closes the file.

    Args:
        path: The file to read.
        name: The name of the file for error messages.
        start: The position of the first byte.
        stop: The position after the last byte.

    Raises:
        DataError: If the file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str], name: str, start: int, stop: int) -> None:
        super().__init__()
        with explained(path, "read"):
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115
        self._file.seek(start)
        self._left = stop - start
        self.name = name

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self._left]
        count = self._file.readinto(view) or 0
        self._left -= count
        return count

    @override
    def close(self) -> None:
        self._file.close()
        super().close()


def lines_before(path: str | os.PathLike[str], position: int) -> int:
    """Count the lines of a file that end before a position.

    Raises:
        DataError: If the file cannot be read.
    """
    count = 0
    with explained(path, "read"), open(path, "rb") as stream:
        while position and (chunk := stream.read(min(position, 1 << 20))):
            count += chunk.count(b"\n")
            position -= len(chunk)
    return count
