"""Where a file may be cut such that its pieces, read one by one, give the sentences of the whole."""

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
"""Whether a sentence begins with the second of two lines, whatever stands before the first."""

_GZIP = b"\x1f\x8b"
_TREE = re.compile(rf"\((?:{'|'.join(brackets.TOPS)})(?:[\s(]|$)|\(\s*\(".encode())


def _after_blank(before: bytes, line: bytes) -> bool:  # noqa: ARG001
    return not before.strip()


def _before_tree(before: bytes, line: bytes) -> bool:
    return not before.strip() or _TREE.match(line) is not None


def _anywhere(before: bytes, line: bytes) -> bool:  # noqa: ARG001
    return True


BOUNDARIES: Mapping[str, Boundary] = {
    "conllu": _after_blank,
    "columns": _after_blank,
    "brackets": _before_tree,
}
"""Of formats whose sentences have several lines."""


def cuts(path: str | os.PathLike[str], format: str, readers: Readers, size: int) -> list[int]:
    r"""The bytes at which the pieces of a file begin, and its end.

    Each piece holds at least one sentence, and all but the last one have `size` bytes or more, up to the next
    sentence. Nothing is read between the cuts: the time grows with their number, not with the file. What cannot
    be read from the middle is one piece: a file that is compressed; CoNLL-U with entities, whose identifiers run
    through the file.

    Args:
        path: A file.
        format: Its format.
        readers: What it is read for.
        size: In bytes.

    Raises:
        DataError: The file cannot be read.

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
        found = [0]
        boundary = BOUNDARIES.get(format, _anywhere)
        position = max(size, _end_of_first_content(stream))
        while (cut := _next(stream, position, boundary)) is not None:
            found.append(cut)
            position = cut + size
    return [*found, end]


def _end_of_first_content(stream: IO[bytes]) -> int:
    """The end of what holds no sentence, and of the first line that does."""
    while (line := stream.readline(LONGEST_LINE)) and not _begins(line):
        pass
    return stream.tell()


def _next(stream: IO[bytes], position: int, boundary: Boundary) -> int | None:
    """The first byte from a position on with which a sentence begins."""
    stream.seek(position - 1)
    before = b"." + stream.readline(LONGEST_LINE)  # the end of a line, which need not be blank if that is
    start = stream.tell()
    while line := stream.readline(LONGEST_LINE):
        if before.endswith(b"\n") and _begins(line) and boundary(before, line):
            return start
        before, start = line, stream.tell()
    return None


def _begins(line: bytes) -> bool:
    """Whether a line has something in it, and does not change what it is where it is the first one of a file."""
    return bool(line.decode("utf-8", "replace").strip()) and not line.startswith(codecs.BOM_UTF8)


class Piece(io.RawIOBase):
    """The bytes of a file from one to another, as a stream.

    Args:
        path: The file.
        name: How messages call it.
        start: The first byte.
        stop: The byte after the last one.

    Raises:
        DataError: The file cannot be opened.
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
    """How many lines of a file end before a byte.

    Raises:
        DataError: The file cannot be read.
    """
    count = 0
    with explained(path, "read"), open(path, "rb") as stream:
        while position and (chunk := stream.read(min(position, 1 << 20))):
            count += chunk.count(b"\n")
            position -= len(chunk)
    return count
