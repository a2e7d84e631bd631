"""A partially downloaded file, with a note on its source."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import IO, Any

from strukt.data.files.digests import Digest, digest, explained


class PartialFile:
    """A file `NAME.part` next to the target, and a note `NAME.part.json` on where it comes from.

    Data from an earlier download is kept if the rest can be requested, and dropped otherwise.

    Args:
        target: Path of the complete file.
        address: The URL that it is fetched from.
        expected: Digest of the complete file; None if it is not known.

    Attributes:
        target: Path of the complete file.
        address: The URL that it is fetched from.
        expected: Digest of the complete file; None if it is not known.
        path: Path of the partial file.

    Raises:
        DataError: If earlier data has to be dropped, and cannot be removed.
    """

    def __init__(self, target: str, address: str, expected: Digest | None) -> None:
        self.target = target
        self.address = address
        self.expected = expected
        self.path = f"{target}.part"
        self._note = f"{target}.part.json"
        if self.size and not self.range_headers():
            self.drop()

    @property
    def size(self) -> int:
        """Number of bytes downloaded so far; 0 if there is no partial file."""
        try:
            return os.path.getsize(self.path)
        except OSError:
            return 0

    @property
    def is_expected(self) -> bool:
        """True if the partial file has the expected digest, or if none is known.

        Raises:
            DataError: If the file cannot be read.
        """
        return self.expected is None or self.expected == digest(self.path)

    def range_headers(self) -> dict[str, str]:
        """Return headers that request the rest, or the whole file if it has changed (RFC 9110, section 14).

        There are none if nothing was downloaded yet, if the part was downloaded from another address, or if
        neither a validator nor a checksum shows whether the rest belongs to the part.
        """
        note = self._read_note()
        validator = note.get("validator")
        if not self.size or note.get("address") != self.address or not (validator or self.expected):
            return {}
        return {"Range": f"bytes={self.size}-", **({"If-Range": validator} if validator else {})}

    @contextlib.contextmanager
    def opened(self, offset: int, validator: str | None) -> Iterator[IO[bytes]]:
        """Open the partial file for appending.

        Args:
            offset: The position to write at; if 0, earlier data is dropped.
            validator: The ETag or the date by which the server identifies the content; None if there is neither.

        Raises:
            DataError: If it cannot be written; what has been written so far is kept.
        """
        with explained(self.path, "written"):
            if offset == 0:
                self.drop()
                with open(self._note, "w", encoding="utf-8") as note:
                    json.dump({"address": self.address, "validator": validator}, note)
            with open(self.path, "ab") as stream:
                yield stream

    def put_in_place(self) -> Digest:
        """Move the complete file to its target path, remove the note, and return the digest of the file.

        Raises:
            DataError: If a file cannot be read, written or removed.
        """
        actual = digest(self.path)
        with explained(self.target, "written"):
            with open(self.path, "rb") as stream:
                os.fsync(stream.fileno())
            os.replace(self.path, self.target)
        self.drop()
        return actual

    def drop(self) -> None:
        """Remove the partial file and its note, if they exist.

        Raises:
            DataError: If a file cannot be removed.
        """
        for path in (self.path, self._note):
            with explained(path, "removed"), contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _read_note(self) -> dict[str, Any]:
        """Return the note; an empty one if it is missing or damaged."""
        try:
            with open(self._note, encoding="utf-8") as stream:
                note = json.load(stream)
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) else {}
