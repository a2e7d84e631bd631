"""Downloading a file over HTTP: resumable, verified by length and checksum, at its path only when complete."""

from __future__ import annotations

import http.client
import os
import re
import time
from collections.abc import Callable, Iterator
from email.message import Message
from typing import IO, Any, NoReturn
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from strukt.data.corpora.partial_file import PartialFile
from strukt.data.files.digests import Digest, digest
from strukt.errors import DataError

TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as broken."""

TRIES = 5
"""The number of successive attempts without new bytes after which the download fails."""

Wait = Callable[[float, str], None]
"""Called before another attempt to fetch a file, with the seconds to wait and the reason; must itself wait."""

Progress = Callable[[int, "int | None"], None]
"""Called as bytes arrive, with the number of bytes so far, and in total (None if that is not known)."""

_CHUNK = 1 << 16
_PASSING = (408, 429, 500, 502, 503, 504)  # status codes of errors that may pass
_RANGE = re.compile(r"bytes (\d+)-")


class NotThereError(DataError):
    """The server works, but does not have the file."""


class _Broken(Exception):  # noqa: N818
    """An attempt failed, but another one may succeed."""


def pause(seconds: float, reason: str) -> None:  # noqa: ARG001
    """Sleep for some seconds: the default `Wait`, which reports nothing."""
    time.sleep(seconds)


def silent(size: int, total: int | None) -> None:
    """Ignore progress: the default `Progress`."""


def fetch(
    address: str,
    path: str | os.PathLike[str],
    expected: Digest | None = None,
    *,
    wait: Wait = pause,
    progress: Progress = silent,
) -> Digest:
    """Fetch a file if it does not exist.

    It is downloaded to a temporary file next to `path`, which is renamed once it has the announced length and
    the expected digest. If the connection breaks or the process is killed, the next attempt or call requests
    only the rest, or the whole file if it has changed or the server does not support partial downloads.

    Args:
        address: The URL, beginning with `http://` or `https://`.
        path: The target path. An existing file is never overwritten.
        expected: The expected digest; if None, any complete file is accepted.
        wait: Called before each further attempt; the waits are 1, 2, 4 and 8 seconds, and begin again at 1 after
            new bytes.
        progress: Called as bytes arrive.

    Returns:
        The digest of the file.

    Raises:
        NotThereError: If the server has no such file.
        DataError: If `path` exists with other content, the address has another scheme, the server refuses, cannot
            be reached or redirects to an insecure address, the length or the digest is wrong, or a file cannot be
            read or written.
    """
    if os.path.exists(path):
        actual = digest(path)
        if expected not in (None, actual):
            raise DataError(f"has {actual}; expected {expected}; move it away to fetch it", path)
        return actual
    if not address.startswith(("http://", "https://")):
        raise DataError("is not an address to fetch from; give one that begins with http:// or https://", address)
    part = PartialFile(os.fspath(path), address, expected)
    was_begun = part.size > 0
    if not _arrives(part, wait, progress):
        if was_begun:
            part.drop()  # it may be the beginning of one file and the rest of another
        if not was_begun or not _arrives(part, wait, progress):
            _refuse(part)
    return part.put_in_place()


def _arrives(part: PartialFile, wait: Wait, progress: Progress) -> bool:
    """Fetch the missing bytes, retrying as needed; return True if the file has the expected digest."""
    failures, furthest = 0, part.size
    while True:
        try:
            _transfer(part, progress)
            return part.is_expected
        except _Broken as broken:
            failures = 1 if part.size > furthest else failures + 1
            furthest = max(furthest, part.size)
            if failures == TRIES:
                message = f"{broken}, {TRIES} times in a row; run the same command to continue"
                raise DataError(message, part.address) from broken
            wait(2.0 ** (failures - 1), str(broken))


def _refuse(part: PartialFile) -> NoReturn:
    """Remove the partial file, and raise a `DataError` that names its digest, which is wrong."""
    actual = digest(part.path)
    part.drop()
    raise DataError(f"the server sent another file, with {actual}; expected {part.expected}", part.address)


def _transfer(part: PartialFile, progress: Progress) -> None:
    """Make one request; append the bytes of the response to the partial file, or replace its content with them."""
    answer = _request(part)
    if answer is None:
        return
    with answer:
        offset = _offset(answer, part)
        total = _total(answer, offset)
        limit = part.expected.size if part.expected else None
        if None not in (total, limit) and total != limit:
            part.drop()
            raise DataError(f"the server announces {total:,} bytes; expected {limit:,}", part.address)
        with part.opened(offset, _validator(answer.headers)) as stream:
            for chunk in _chunks(answer):
                stream.write(chunk)
                progress(stream.tell(), total)
                if limit is not None and stream.tell() > limit:
                    break
    if total is not None and part.size < total:
        raise _Broken(f"the connection broke off after {part.size:,} of {total:,} bytes")


def _request(part: PartialFile) -> Any:
    """Return the response of the server; None if the partial file is complete already."""
    headers = {"User-Agent": "strukt", "Accept-Encoding": "identity", **part.range_headers()}
    try:
        return _OPENER.open(Request(part.address, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        said = f"the server says {error.code} {error.reason}"
        if error.code == 416 and part.size:
            if error.headers.get("Content-Range") == f"bytes */{part.size}":
                return None
            part.drop()
        elif error.code not in _PASSING:
            raise (NotThereError if error.code in (404, 410) else DataError)(said, part.address) from error
        raise _Broken(said) from error
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(_reason(error)) from error


def _chunks(answer: Any) -> Iterator[bytes]:
    """Yield bytes as they arrive, so that no bytes are lost if the connection breaks."""
    while True:
        try:
            chunk = answer.read1(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _Broken(_reason(error)) from error
        if not chunk:
            return
        yield chunk


def _reason(error: Exception) -> str:
    """Return the reason why a connection failed, for a message."""
    cause = getattr(error, "reason", error)
    return f"the connection failed: {getattr(cause, 'strerror', None) or cause}"


def _offset(answer: Any, part: PartialFile) -> int:
    """Return the position in the file of the first byte of the response: 0, or the size of the partial file."""
    if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
        return 0
    match = _RANGE.match(answer.headers.get("Content-Range", ""))
    if match is None or int(match[1]) != part.size:
        part.drop()
        raise _Broken("the server sent a part other than the one requested")
    return part.size


def _total(answer: Any, offset: int) -> int | None:
    """Return the size of the whole file that the response announces; None if it announces none."""
    length = answer.headers.get("Content-Length", "")
    return offset + int(length) if length.isdigit() else None


def _validator(headers: Message) -> str | None:
    """Return the ETag that identifies the bytes of a file; if it is missing or weak, the date, or None."""
    tag = headers.get("ETag", "")
    return tag if tag.startswith('"') else headers.get("Last-Modified")


class _Redirects(HTTPRedirectHandler):
    """Follow redirections, except from HTTPS to HTTP or to other schemes."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> Request | None:
        schemes = ("https",) if req.type == "https" else ("https", "http")
        if urlsplit(newurl).scheme not in schemes:
            message = f"the server redirects to {newurl}; expected {' or '.join(schemes)}"
            raise DataError(message, req.full_url)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = build_opener(_Redirects)
