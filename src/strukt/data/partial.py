"""The part of a file that has arrived, and what is known of the whole."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import IO, Any

from strukt.data.digests import Digest, digest, explained


class PartialFile:
    """A file `NAME.part` beside the one that it becomes, and a note `NAME.part.json` of where it comes from.

    What stands there of an earlier download is kept if the rest can be asked for, and dropped otherwise.

    Args:
        target: The path of the whole file.
        address: Where it is fetched from.
        expected: What the whole must be, if that is known.

    Attributes:
        path: The path of the part.
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
        """The bytes that have arrived."""
        try:
            return os.path.getsize(self.path)
        except OSError:
            return 0

    @property
    def is_expected(self) -> bool:
        """Whether this is the whole file, as far as that can be known."""
        return self.expected is None or self.expected == digest(self.path)

    def range_headers(self) -> dict[str, str]:
        """The headers that ask for the rest, or for the whole if the file has changed (RFC 9110, section 14).

        There are none if nothing has arrived, or if neither a validator nor a checksum could tell that the rest
        belongs to the part.
        """
        note = self._read_note()
        validator = note.get("validator")
        if not self.size or note.get("address") != self.address or not (validator or self.expected):
            return {}
        return {"Range": f"bytes={self.size}-", **({"If-Range": validator} if validator else {})}

    @contextlib.contextmanager
    def opened(self, offset: int, validator: str | None) -> Iterator[IO[bytes]]:
        """The part, to be written at its end.

        Args:
            offset: If 0, what has arrived is dropped.
            validator: What the server will know this content by.

        Raises:
            DataError: It cannot be written; what has arrived stays.
        """
        with explained(self.path, "written"):
            if offset == 0:
                self.drop()
                with open(self._note, "w", encoding="utf-8") as note:
                    json.dump({"address": self.address, "validator": validator}, note)
            with open(self.path, "ab") as stream:
                yield stream

    def put_in_place(self) -> Digest:
        """Gives the whole file its name.

        Raises:
            DataError: It cannot be written.
        """
        found = digest(self.path)
        with explained(self.target, "written"):
            with open(self.path, "rb") as stream:
                os.fsync(stream.fileno())
            os.replace(self.path, self.target)
        self.drop()
        return found

    def drop(self) -> None:
        """Removes the part and its note."""
        for path in (self.path, self._note):
            with explained(path, "removed"), contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _read_note(self) -> dict[str, Any]:
        try:
            with open(self._note, encoding="utf-8") as stream:
                note = json.load(stream)
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) else {}
