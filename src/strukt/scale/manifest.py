"""What a folder of parts was begun with, so that a later run goes on with it, or leaves it alone."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from strukt.data.corpus import Readers
from strukt.data.files.digests import digest, explained
from strukt.errors import DataError
from strukt.scale.annotation import Annotation
from strukt.scale.shards import Input
from strukt.train.storage import read_json, write_json

FILE = "_manifest.json"
"""Programs that read the folder as one table pass over names with an underscore."""


def places(
    folder: Path,
    model: Path,
    annotation: Annotation,
    inputs: Sequence[Input],
    readers: Readers,
    column: str,
    size: int,
) -> list[list[int]]:
    """Where the corpora are cut: as the manifest says if there is one, which is written if there is none.

    Several processes may come at the same time; the same arguments give the same cuts.

    Args:
        folder: Where the parts go; made if it is not there.
        model: The folder of the model.
        annotation: What is asked of it.
        inputs: The corpora.
        readers: What they are read for.
        column: Of Parquet and JSON lines, that of the text.
        size: Of a shard, in bytes.

    Raises:
        DataError: The folder was begun with something else, holds parts without a manifest, or cannot be written;
            a corpus cannot be read.
    """
    with explained(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    begun = {
        "strukt": version("strukt"),
        "model": fingerprint(model),
        "options": dataclasses.asdict(annotation) | {"column": column, "shard_size": size},
        "inputs": [dataclasses.asdict(corpus) for corpus in inputs],
    }
    path = folder / FILE
    if not path.exists():
        if any(folder.glob("part-*")):
            raise DataError(f"holds parts, but no {FILE}; give another folder", folder)
        write_json(path, begun | {"cuts": [corpus.cuts(readers, column, size) for corpus in inputs]})
    found = read_json(path)
    if difference := _difference(found, begun):
        message = f"was begun with {difference}; go on with that, give another folder, or delete this one"
        raise DataError(message, folder)
    cuts: list[list[int]] = found["cuts"]
    return cuts


def fingerprint(model: Path) -> str:
    """What tells the predictions of a saved model from those of every other.

    Args:
        model: Its folder.

    Raises:
        DataError: A file of it cannot be read.
    """
    names = ["config.json", "vocabularies.json", "weights.safetensors"]
    paths = [model / name for name in names] + sorted((model / "encoder").rglob("*"))
    state = hashlib.sha256()
    for path in paths:
        if path.is_file():
            state.update(f"{path.relative_to(model).as_posix()} {digest(path).sha256}\n".encode())
    return state.hexdigest()


def _difference(found: Any, wanted: dict[str, Any]) -> str | None:
    """What another run had otherwise, in words."""
    if not isinstance(found, dict) or not {*wanted, "cuts"} <= found.keys():
        return f"something else: its {FILE} is not one of predictions"
    if found["strukt"] != wanted["strukt"]:
        return f"strukt {found['strukt']}, and this is strukt {wanted['strukt']}"
    if found["model"] != wanted["model"]:
        return "another model"
    for name, value in wanted["options"].items():
        if found["options"].get(name) != value:
            return f"--{name} {found['options'].get(name)}, and now it is {value}"
    return _difference_of_inputs(found["inputs"], wanted["inputs"])


def _difference_of_inputs(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> str | None:
    before, now = ([corpus["path"] for corpus in inputs] for inputs in (found, wanted))
    if before != now:
        return f"the corpora {_listed(before)}, and now they are {_listed(now)}"
    for old, new in zip(found, wanted, strict=True):
        if old["format"] != new["format"]:
            return f"{old['path']} as {old['format']}, and now it is {new['format']}"
        if old != new:
            return f"{old['path']} as it was before it changed"
    return None


def _listed(paths: list[str]) -> str:
    return ", ".join(paths) if len(paths) <= 3 else f"{', '.join(paths[:3])} and {len(paths) - 3} more"
