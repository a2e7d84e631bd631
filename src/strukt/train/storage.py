"""Tensors and JSON on disk: each file appears whole or not at all, and a damaged one is named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from strukt.data.files import atomic_write
from strukt.errors import DataError


def write_json(path: Path, value: Any) -> None:
    """Writes a value beside its place, then renames.

    Args:
        path: The file.
        value: Whatever JSON can hold.
    """
    with atomic_write(path) as stream:
        json.dump(value, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


def read_json(path: Path) -> Any:
    """Reads a value.

    Args:
        path: The file.

    Raises:
        DataError: The file is missing or damaged.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise DataError("is missing", path) from error
    except (OSError, ValueError) as error:
        raise DataError(f"is damaged ({error}); restore it from a copy", path) from error


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Writes tensors beside their place, then renames.

    Args:
        path: The file.
        tensors: Tensors by name, on any device.
    """
    own = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    part = path.with_name(f".{path.name}.part")
    try:
        save_file(own, part)
        _flush_to_disk(part)
        os.replace(part, path)
    except (OSError, SafetensorError) as error:
        part.unlink(missing_ok=True)
        raise DataError(f"cannot be written: {error}", path) from error


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Reads tensors to the CPU.

    Args:
        path: The file.

    Raises:
        DataError: The file is missing or damaged.
    """
    try:
        tensors: dict[str, Tensor] = load_file(path)
    except FileNotFoundError as error:
        raise DataError("is missing", path) from error
    except (OSError, SafetensorError) as error:
        raise DataError(f"is damaged ({error}); restore it from a copy", path) from error
    return tensors


def _flush_to_disk(path: Path) -> None:
    # A rename may reach the disk before the content does; after a power cut the file would be empty.
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
