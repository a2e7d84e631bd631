"""The files of a saved model inside a saved pipeline: copied unchanged, never pickled."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from strukt.data.files.digests import explained
from strukt.errors import DataError
from strukt.train.model_folder import LAST, PARTS, clear


def copy(folder: Path, to: Path) -> None:
    """Copy a saved model, without checkpoints or other files in its folder.

    Args:
        folder: The folder of the saved model.
        to: The target folder; created if necessary. A model in it is replaced. If it is the same folder, nothing
            is copied.

    Raises:
        DataError: If the folder no longer holds a model, or if a file cannot be read or written.
    """
    names = _names(folder)
    if to.exists() and to.samefile(folder):
        return
    with explained(to, "written"):
        clear(to)
        for name in names:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, to / name)


def read(folder: Path) -> dict[str, bytes]:
    """Return the content of each file of a saved model, by the path relative to the folder.

    Raises:
        DataError: If the folder no longer holds a model, or if a file cannot be read.
    """
    with explained(folder, "read"):
        return {str(name): (folder / name).read_bytes() for name in _names(folder)}


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files that `read` returned into an empty folder.

    Raises:
        DataError: If these are no files, a file does not belong to a model, or a file cannot be written.
    """
    if not (
        isinstance(files, Mapping)
        and all(isinstance(name, str) and isinstance(content, bytes) for name, content in files.items())
    ):
        raise DataError("the bytes hold no files of a model; expected the result of to_bytes")
    for name in files:
        first, *others = PurePosixPath(name).parts or [""]
        if first not in (*PARTS, LAST) or ".." in others:
            raise DataError(f"{name!r} is not a file of a model; expected one of {', '.join((*PARTS, LAST))}")
    with explained(folder, "written"):
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def _names(folder: Path) -> list[PurePosixPath]:
    """Return the paths of all files of a model, relative to its folder, `LAST` last."""
    if not (folder / LAST).exists():
        raise DataError("no longer holds the saved model that is to be copied; restore it", folder)
    parts = [folder / part for part in PARTS]
    paths = [path for part in parts for path in ([part] if part.is_file() else sorted(part.rglob("*")))]
    files = [PurePosixPath(path.relative_to(folder).as_posix()) for path in paths if path.is_file()]
    return [*files, PurePosixPath(LAST)]
