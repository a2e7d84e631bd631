"""Files of tensors in the format of safetensors, written atomically."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from strukt.errors import DataError


def write_tensor_file(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to a file, atomically: a temporary file in the same folder is renamed.

    If the file existed before, it keeps its mode.

    Args:
        path: The file.
        tensors: Contiguous tensors by name, which share no memory.
        metadata: Texts by name; none by default.

    Raises:
        DataError: If the file cannot be written.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        part.touch()
        mode = stat.S_IMODE((path if path.exists() else part).stat().st_mode)
        save_file(dict(tensors), part, dict(metadata or {}) or None)  # with {}, an empty file would be invalid
        part.chmod(mode)  # safetensors makes files that only their owner may read
        _flush_to_disk(part)
        os.replace(part, path)
    except (OSError, SafetensorError) as error:
        part.unlink(missing_ok=True)
        raise DataError(f"cannot be written: {error}", path) from error


def _flush_to_disk(path: Path) -> None:
    """Write the content of a file to disk.

    Otherwise, its renaming might reach the disk first; after a power cut, the file would be empty.
    """
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
