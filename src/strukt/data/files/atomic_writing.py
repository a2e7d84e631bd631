"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import TextIO

from strukt.data.files.digests import explained


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a file for writing UTF-8 text; it appears whole or not at all.

    The text goes to a temporary file in the same folder. If the block ends without an exception, this file
    replaces the file at `path`, and gets its permissions, and its owner if the process may set it. If the process
    is killed before, the old file stays as it was, and the temporary file remains; after an exception, it is
    removed. Symbolic links are followed. Line ends are written unchanged. Pipes, `/dev/null` and other files that
    are not regular are written directly.

    Raises:
        DataError: If `path` is a folder, or its folder does not exist, may not be written to, or is full. Any
            other OSError in the block is turned into a DataError, too, except BrokenPipeError.

    Examples:
        >>> import os
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with atomic_write(folder + "/heads.txt") as stream:
        ...         print(os.path.exists(folder + "/heads.txt"))
        ...     os.listdir(folder)
        False
        ['heads.txt']
    """
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with explained(path, "written"), open(path, "w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    target = os.path.realpath(path)
    beside = f"{target}.{os.getpid()}.part"
    try:
        with explained(path, "written"), open(beside, "w", encoding="utf-8", newline="") as stream:
            _give_owner_and_mode(stream.fileno(), target)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with explained(path, "written"):
            os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _give_owner_and_mode(descriptor: int, path: str) -> None:
    """Give an empty new file the owner and mode of an old one, such as 600 of a confidential corpus."""
    if os.name != "posix" or not os.path.exists(path):
        return
    status = os.stat(path)
    with contextlib.suppress(OSError):  # some file systems have no owners or modes
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except PermissionError:  # a process that is not root may still set one of its own groups
            os.fchown(descriptor, -1, status.st_gid)
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
