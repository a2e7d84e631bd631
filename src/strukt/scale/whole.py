"""Files that appear whole or not at all, also where workers on several machines write into one folder."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from strukt.data.files.digests import explained


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A place beside a file that takes its place when the block ends without an exception.

    Its name tells who writes: machine and process. A process that is killed leaves it behind; `remove_leftovers`
    takes it away.

    Args:
        path: Where the file is to appear.

    Raises:
        DataError: It cannot be written.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with whole(Path(folder, "part-00000.txt")) as place:
        ...         _ = place.write_text("It works .")
        ...     os.listdir(folder)
        ['part-00000.txt']
    """
    place = beside(path)
    try:
        with explained(path, "written"):
            yield place
            with open(place, "rb+") as stream:
                os.fsync(stream.fileno())  # or the name might reach the disk before the content
            os.replace(place, path)
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise


def beside(path: Path) -> Path:
    """The place where this process writes a file before it is whole."""
    return path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}")


def count_leftovers(path: Path, since: float) -> int:
    """How many processes were writing a file since a time and did not end it.

    Args:
        path: The file.
        since: In seconds since 1970.
    """
    return sum(found.stat().st_mtime >= since for found in path.parent.glob(f".{path.name}.*"))


def remove_leftovers(folder: Path, pattern: str) -> None:
    """Takes away what killed processes were writing, once nothing is left to be written.

    Args:
        folder: The folder.
        pattern: Of the names of the whole files.
    """
    for path in folder.glob(f".{pattern}.*"):
        path.unlink(missing_ok=True)
