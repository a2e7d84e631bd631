"""The manifest of a folder of parts: the arguments of its run, so that no run with other arguments resumes it."""

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
from strukt.train.model_folder import GRAPHS, WEIGHTS
from strukt.train.storage import read_json, write_json

FILE = "_manifest.json"
"""Name of the manifest; programs that read the folder as one table skip names with an underscore."""


def places(
    folder: Path,
    model: Path,
    annotation: Annotation,
    inputs: Sequence[Input],
    readers: Readers,
    column: str,
    size: int,
) -> list[list[int]]:
    """Return the cuts of the corpora from the manifest; write the manifest if there is none.

    Several processes may call this at the same time: the same arguments give the same cuts.

    Args:
        folder: The folder of the parts; created if it does not exist.
        model: The folder of the model.
        annotation: Options of the annotation.
        inputs: The corpora to annotate.
        readers: The readers of the model, by format.
        column: The column of the text in Parquet and JSON lines.
        size: Size of a shard in bytes.

    Raises:
        DataError: If the folder belongs to a run with other arguments, holds parts without a manifest, or cannot
            be written; or if a corpus cannot be read.
        MissingExtraError: If a corpus is a Parquet file, and pyarrow is not installed.
    """
    with explained(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "strukt": version("strukt"),
        "model": fingerprint(model),
        "options": dataclasses.asdict(annotation) | {"column": column, "shard_size": size},
        "inputs": [dataclasses.asdict(corpus) for corpus in inputs],
    }
    path = folder / FILE
    if not path.exists():
        if any(folder.glob("part-*")):
            raise DataError(f"holds parts, but no {FILE}; choose another folder", folder)
        write_json(path, manifest | {"cuts": [corpus.cuts(readers, column, size) for corpus in inputs]})
    earlier = read_json(path)
    if difference := _difference(earlier, manifest):
        message = (
            f"was begun with {difference}; continue with that, choose another folder, or delete this one"
        )
        raise DataError(message, folder)
    cuts: list[list[int]] = earlier["cuts"]
    return cuts


def fingerprint(model: Path) -> str:
    """Return a digest of the files of a saved model that determine its predictions.

    These are its configuration, vocabularies, and weights or ONNX graphs, and the files of a pretrained encoder.
    Files that do not exist are skipped. The digest is SHA-256, in hexadecimal digits.

    Args:
        model: The folder of the model.

    Raises:
        DataError: If a file cannot be read.
    """
    names = ["config.json", "vocabularies.json", WEIGHTS]
    folders = [model / "encoder", model / GRAPHS]
    paths = [model / name for name in names] + [path for folder in folders for path in sorted(folder.rglob("*"))]
    state = hashlib.sha256()
    for path in paths:
        if path.is_file():
            state.update(f"{path.relative_to(model).as_posix()} {digest(path).sha256}\n".encode())
    return state.hexdigest()


def _difference(earlier: Any, current: dict[str, Any]) -> str | None:
    """Describe the first difference from the manifest of an earlier run; None if there is none."""
    if not isinstance(earlier, dict) or not {*current, "cuts"} <= earlier.keys():
        return f"something else: its {FILE} does not describe predictions"
    if earlier["strukt"] != current["strukt"]:
        return f"strukt {earlier['strukt']}, and this is strukt {current['strukt']}"
    if earlier["model"] != current["model"]:
        return "another model"
    for name, value in current["options"].items():
        if earlier["options"].get(name) != value:
            return f"--{name} {earlier['options'].get(name)}, and now it is {value}"
    return _difference_of_inputs(earlier["inputs"], current["inputs"])


def _difference_of_inputs(earlier: list[dict[str, Any]], current: list[dict[str, Any]]) -> str | None:
    """Describe the first difference between the corpora of two runs; None if there is none."""
    before, now = ([corpus["path"] for corpus in inputs] for inputs in (earlier, current))
    if before != now:
        return f"the corpora {_listed(before)}, and now they are {_listed(now)}"
    for old, new in zip(earlier, current, strict=True):
        if old["format"] != new["format"]:
            return f"{old['path']} as {old['format']}, and now it is {new['format']}"
        if old != new:
            return f"{old['path']} as it was before it changed"
    return None


def _listed(paths: list[str]) -> str:
    """Return the first three paths and the number of the others, as text."""
    return ", ".join(paths) if len(paths) <= 3 else f"{', '.join(paths[:3])} and {len(paths) - 3} more"
