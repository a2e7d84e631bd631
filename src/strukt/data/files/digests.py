"""Digests that identify the content of a file: its SHA-256 sum and its size."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from strukt.errors import DataError

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Digest:
    """The checksum and size of a file; only the checksum decides equality.

    Attributes:
        sha256: The checksum in hexadecimal digits.
        size: The size in bytes; None if it is not known.
    """

    sha256: str
    size: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        size = "" if self.size is None else f" ({self.size:,} bytes)"
        return f"sha256 {self.sha256}{size}"


def digest(path: str | os.PathLike[str]) -> Digest:
    """Return the digest of a file, in constant memory.

    Raises:
        DataError: If it cannot be read.

    Examples:
        >>> print(digest(os.devnull))
        sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 (0 bytes)
    """
    state = hashlib.sha256()
    size = 0
    with explained(path, "read"), open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            state.update(chunk)
            size += len(chunk)
    return Digest(state.hexdigest(), size)


@contextlib.contextmanager
def explained(path: str | os.PathLike[str], done: str) -> Iterator[None]:
    """Return a context in which an OSError becomes a `DataError`.

    Args:
        path: The file or folder that the error names.
        done: A participle such as "read", for the message "cannot be read".

    Raises:
        DataError: If an OSError other than BrokenPipeError occurs.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # not the fault of the file: the program that reads the output has ended
    except OSError as error:
        raise DataError(f"cannot be {done}: {error.strerror or error}", path) from error
