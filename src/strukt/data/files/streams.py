"""Opening corpora (plain, gzip, standard input) as lines of text."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from typing import IO, cast

from strukt.data.files.problems import Problem, Report, stop
from strukt.errors import DataError

Source = str | os.PathLike[str] | IO[bytes] | IO[str]
"""A path, `-` for standard input, or an open stream."""

LONGEST_LINE = 100_000
"""Maximum number of bytes in a line, with its line end; a file with a longer one is rejected to limit memory."""


def name_of(source: Source) -> str:
    """Return the name of a source in messages; `<stream>` for a stream without a name.

    Examples:
        >>> name_of("-"), name_of("train.conllu")
        ('<stdin>', 'train.conllu')
    """
    if isinstance(source, (str, os.PathLike)):
        return "<stdin>" if source == "-" else os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def lines(source: Source, report: Report = stop) -> Iterator[str]:
    r"""Read a source line by line, without the line ends; memory does not grow with the file.

    Two things are repaired, and reported once per file: a byte order mark is dropped, and CRLF line ends are
    read as LF.

    Args:
        source: A path, `-`, or an open stream; gzip is recognised by its first two bytes.
        report: Called with each problem; by default, the first one that cannot be repaired raises a DataError. If
            it returns, a byte that is not UTF-8 becomes U+FFFD, and a line that is too long or cannot be read ends
            the reading.

    Raises:
        DataError: If the source cannot be opened. With the default report, also if it cannot be read to its end,
            compressed data is damaged or cut short, or a line has more than `LONGEST_LINE` bytes, NUL, a carriage
            return within it, or bytes that are not UTF-8.

    Examples:
        >>> import io
        >>> list(lines(io.BytesIO(b"1\tIt\n2\tworks\n")))
        ['1\tIt', '2\tworks']
    """
    decoder = _Decoder(name_of(source), report)
    with _open(source) as stream:
        for number, raw in enumerate(_raw_lines(stream, decoder.path, report), 1):
            yield decoder.text(raw, number)


@contextlib.contextmanager
def _open(source: Source) -> Iterator[IO[bytes]]:
    """Open a source as a stream of bytes, and decompress it if it is gzip."""
    with contextlib.ExitStack() as stack:
        if isinstance(source, (str, os.PathLike)) and source != "-":
            stream = stack.enter_context(_open_path(os.fspath(source)))
        else:
            raw = sys.stdin if isinstance(source, (str, os.PathLike)) else source
            stream = stack.enter_context(_buffered(raw))
        is_gzip = stream.peek(2)[:2] == b"\x1f\x8b"
        yield cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=stream))) if is_gzip else stream


def _open_path(path: str) -> io.BufferedReader:
    """Open a file; raise `DataError` if that is not possible."""
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise DataError("there is no such file", path) from None
    except IsADirectoryError:
        raise DataError("is a directory; give a file in it", path) from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path) from error


@contextlib.contextmanager
def _buffered(stream: IO[bytes] | IO[str]) -> Iterator[io.BufferedReader]:
    """Yield a stream of bytes that has `peek`; the original stream stays open."""
    if isinstance(stream, io.TextIOWrapper):
        stream = stream.buffer
    elif isinstance(stream, io.TextIOBase):
        stream = io.BytesIO(stream.read().encode("utf-8", "surrogatepass"))
    if hasattr(stream, "peek"):
        yield cast(io.BufferedReader, stream)
        return
    buffered: io.BufferedReader = io.BufferedReader(cast(io.RawIOBase, stream))
    try:
        yield buffered
    finally:
        with contextlib.suppress(ValueError):  # the caller may have closed the stream by now
            buffered.detach()


def _raw_lines(stream: IO[bytes], path: str, report: Report) -> Iterator[bytes]:
    """Yield the lines as bytes; stop early at a problem after which nothing can be read."""
    number = 0
    # No `try` around `yield`: if Python exits before the last line, the exceptions that it names may be gone.
    while raw := _next_line(stream, path, number, report):
        number += 1
        if len(raw) > LONGEST_LINE:
            message = f"the line has more than {LONGEST_LINE:,} bytes"
            report(Problem("line-length", message, "is this a corpus?", path, number))
            return
        yield raw


def _next_line(stream: IO[bytes], path: str, before: int, report: Report) -> bytes:
    """Return the next line, after `before` others; no bytes at the end, or at a problem that ends the reading."""
    try:
        return stream.readline(LONGEST_LINE + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        message = "the compressed file is damaged or cut short after this line"
        report(Problem("compression", message, "fetch it again", path, before or None))
    except OSError as error:
        message = f"the file cannot be read further: {error.strerror or error}"
        report(Problem("reading", message, "check the disk", path, before or None))
    return b""


class _Decoder:
    """A decoder of the bytes of one file, which reports each kind of repair once."""

    def __init__(self, path: str, report: Report) -> None:
        self.path = path
        self._report = report
        self._crlf_seen = False

    def text(self, raw: bytes, number: int) -> str:
        """Return the text of a line without its line end; `number` is that of the line, counted from 1."""
        raw = raw.removesuffix(b"\n")
        if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
            raw = raw[3:]
            self._repair("byte-order-mark", "the file begins with a byte order mark", "dropped it", number)
        if raw.endswith(b"\r"):
            raw = raw[:-1]
            if not self._crlf_seen:
                self._crlf_seen = True
                self._repair("line-end", "the lines end in CRLF", "reading and writing them as LF", number)
        if b"\0" in raw or b"\r" in raw:
            self._forbidden(raw, number)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"byte {error.start + 1} of the line, 0x{raw[error.start]:02x}, is not UTF-8"
            remedy = "convert the file, for example: iconv -f latin1 -t utf-8"
            self._report(Problem("encoding", message, remedy, self.path, number))
            return raw.decode("utf-8", "replace")

    def _repair(self, rule: str, message: str, remedy: str, number: int) -> None:
        self._report(Problem(rule, message, remedy, self.path, number, repaired=True))

    def _forbidden(self, raw: bytes, number: int) -> None:
        if b"\0" in raw:
            message, remedy = "the line holds a NUL byte", "is this a UTF-8 text file?"
        else:
            message, remedy = "the line holds a carriage return", "end lines with LF alone"
        self._report(Problem("control-character", message, remedy, self.path, number))
