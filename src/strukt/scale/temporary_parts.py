"""Temporary files of parts, which workers on several machines write into one folder and then rename."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from strukt.data.files.digests import explained


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; when the context ends without an exception, rename the file to ``path``.

    A file at ``path`` is replaced. After an exception, the temporary file is removed, and ``path`` stays as it
    was. The temporary name contains the host name and the process ID. If the process is killed, the temporary file
    remains; `remove_leftovers` removes those of files named ``part-*``.

    Args:
        path: The final path of the file.

    Raises:
        DataError: If the file cannot be written, or if an OSError is raised in the context.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with atomic_path(Path(folder, "part-00000.txt")) as place:
        ...         _ = place.write_text("It works .")
        ...     os.listdir(folder)
        ['part-00000.txt']
    """
    place = beside(path)
    try:
        with explained(path, "written"):
            yield place
            with open(place, "rb+") as stream:
                os.fsync(stream.fileno())  # otherwise the name might reach the disk before the content
            os.replace(place, path)
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise


def beside(path: Path) -> Path:
    """Return the temporary path to which this process writes a file."""
    return path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}")


def count_leftovers(path: Path, since: float) -> int:
    """Count the processes that have written to a temporary file since a point in time, and have not finished it.

    Args:
        path: The final path of the file.
        since: The point in time, in seconds since 1970.
    """
    return sum(leftover.stat().st_mtime >= since for leftover in path.parent.glob(f".{path.name}.*"))


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of ``part-*`` left by killed processes; call it only if no process is writing."""
    for path in folder.glob(".part-*.*"):
        path.unlink(missing_ok=True)
