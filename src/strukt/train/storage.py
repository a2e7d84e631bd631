"""Tensors and JSON on disk: files are written atomically, and errors name a damaged file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from safetensors import SafetensorError, safe_open
from torch import Tensor

from strukt.data.files import atomic_write
from strukt.errors import DataError
from strukt.tensor_file import write_tensor_file

LARGEST_JSON = 1 << 30
"""Maximum size of a JSON file in bytes; a vocabulary of a million words takes tens of millions of bytes."""


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically.

    Args:
        path: The file.
        value: A value that JSON can represent.

    Raises:
        DataError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        dump_json(value, stream)


def dump_json(value: Any, stream: TextIO, convert: Callable[[Any], Any] | None = None) -> None:
    """Write a value as JSON to a stream, in the form of all JSON files of models.

    Args:
        value: The value, which `json` or `convert` can represent.
        stream: The text stream to write to; it stays open.
        convert: Function that converts a value that JSON cannot represent into one that it can.
    """
    json.dump(value, stream, indent=2, ensure_ascii=False, default=convert)
    stream.write("\n")


def read_json(path: Path) -> Any:
    """Read a value from JSON.

    Args:
        path: The file.

    Raises:
        DataError: If the file is missing, damaged, not a regular file, or larger than `LARGEST_JSON`.
    """
    try:
        require_regular(path)
        if path.stat().st_size > LARGEST_JSON:
            raise DataError(f"has more than {LARGEST_JSON:,} bytes; restore it from a copy", path)
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise DataError("is missing", path) from error
    except RecursionError:
        raise DataError("is damaged (nested too deeply); restore it from a copy", path) from None
    except (OSError, ValueError) as error:
        raise DataError(f"is damaged ({error}); restore it from a copy", path) from error


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        DataError: If the file is missing or damaged, or holds another value.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError("is damaged (no JSON object); restore it from a copy", path)
    return value


def require_regular(path: Path) -> None:
    """Raise DataError if a path leads to a pipe, a device or a folder: reading these may fail, or never end."""
    if path.exists() and not path.is_file():
        raise DataError("is not a regular file; restore it from a copy", path)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors, atomically.

    Tensors that are the same view of the same memory, such as tied parameters, are written once; the metadata of
    the file record their other names.

    Args:
        path: The file.
        tensors: Tensors by name, on any device.

    Raises:
        DataError: If the file cannot be written.
    """
    write_tensor_file(path, *_deduplicated(tensors))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file to the CPU; return them by name, with the same tensor for tied names.

    Args:
        path: The file.

    Raises:
        DataError: If the file is missing or damaged.
    """
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a mapping
        aliases = file.metadata() or {}
        return tensors | {name: tensors[first] for name, first in aliases.items() if first in tensors}


def require_tensors(path: Path) -> None:
    """Open a file of tensors without reading them.

    Args:
        path: The file.

    Raises:
        DataError: If the file is missing or damaged.
    """
    with _opened(path):
        pass


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a safetensors file; raise `DataError` if it is missing or damaged."""
    require_regular(path)
    try:
        with safe_open(path, "pt") as file:
            yield file
    except FileNotFoundError as error:
        raise DataError("is missing", path) from error
    except (OSError, SafetensorError) as error:
        raise DataError(f"is damaged ({error}); restore it from a copy", path) from error


def _deduplicated(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Copy distinct tensors to the CPU, where they share no memory; map every other name to that of its tensor."""
    distinct: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    first: dict[tuple[object, ...], str] = {}
    memories: set[tuple[object, ...]] = set()
    for name, tensor in tensors.items():
        memory = (tensor.device, tensor.untyped_storage().data_ptr())
        place = (*memory, tensor.dtype, tensor.storage_offset(), tensor.shape, tensor.stride())
        if place in first:
            aliases[name] = first[place]
            continue
        first[place] = name
        kept = tensor.detach().contiguous().cpu()
        distinct[name] = kept.clone() if memory in memories else kept
        memories.add(memory)
    return distinct, aliases
