"""The folder of a saved model: all its files but the weights, and the version of its format.

The files are those of `strukt.train.saved_model`, which saves and loads whole models.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from strukt.data.files.digests import explained
from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError, MissingExtraError
from strukt.tasks import TASKS
from strukt.tasks.common.model import Model
from strukt.tasks.common.options import from_dict
from strukt.tasks.common.ranges import require_possible
from strukt.train.default_type import float32_by_default
from strukt.train.environment import environment as this_environment
from strukt.train.intact import require_sizes, require_symbols
from strukt.train.storage import read_json, write_json

FORMAT = 1
"""Version of the format. It rises when earlier releases cannot read a new folder; old formats stay readable."""

GRAPHS = "onnx"
"""Folder for the graphs of an exported model, in place of weights."""

WEIGHTS = "weights.safetensors"

EXAMPLES = "examples.json"

PARTS = (
    "config.json",
    "vocabularies.json",
    WEIGHTS,
    "metrics.json",
    "environment.json",
    EXAMPLES,
    "encoder",
    GRAPHS,
)
"""All files and folders of a saved model except `LAST`."""

LAST = "format.json"
"""Written last, so a folder that contains it is complete."""

HUB = "hf://"
"""Prefix of the names of models on the Hugging Face Hub, as opposed to folders."""

_NO_MODEL = (
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RuntimeError,
    MemoryError,
)
"""Errors that building a model from a damaged description may raise."""


@contextlib.contextmanager
def writing(
    model: Model,
    folder: str | os.PathLike[str],
    metrics: dict[str, Any] | None,
    environment: dict[str, Any] | None,
) -> Iterator[Path]:
    """Write all files of a model except its weights, which the caller writes within the context.

    Args:
        model: The model to save.
        folder: The folder; created if it does not exist. A model in it is replaced.
        metrics: The scores; None for no scores.
        environment: Versions and machine of the training run; None for those of this process.

    Yields:
        The folder, which becomes complete when the context ends.

    Raises:
        DataError: If the path of the folder is not UTF-8, or a file cannot be written.
    """
    here = this_environment()
    path = Path(folder)
    require_utf8(path)
    with explained(path, "written"):
        path.mkdir(parents=True, exist_ok=True)
        (path / LAST).unlink(missing_ok=True)
    write_json(path / "config.json", {"task": model.task, "options": dataclasses.asdict(model.config)})
    symbols = {name: vocabulary.to_json() for name, vocabulary in model.vocabularies.items()}
    write_json(path / "vocabularies.json", symbols)
    write_json(path / EXAMPLES, model.examples)
    yield path
    write_json(path / "metrics.json", metrics or {})
    write_json(path / "environment.json", environment or here)
    model.save_assets(path / "encoder")
    write_json(path / LAST, {"format": FORMAT, "strukt": here["strukt"]})


def require_no_others(folder: str | os.PathLike[str]) -> None:
    """Check that saving a model into a folder would not replace unrelated files.

    Args:
        folder: The folder for a new model.

    Raises:
        DataError: If the folder holds a file or folder named in `PARTS`, or if its path is not UTF-8.
    """
    require_utf8(folder)
    for name in PARTS:
        if os.path.lexists(os.path.join(folder, name)):
            raise DataError(f"holds {name}, which the model would replace; choose another folder", folder)


def clear(folder: Path) -> None:
    """Delete a model from its folder, first the file `LAST`, which marks it as complete."""
    for part in (folder / LAST, *(folder / part for part in PARTS)):
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink(missing_ok=True)


def require_utf8(folder: str | os.PathLike[str]) -> None:
    """Check that the path of a folder is valid UTF-8, because safetensors and TensorBoard accept no other.

    Raises:
        DataError: If the path is not UTF-8.
    """
    try:
        os.fspath(folder).encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            "has a name that is not UTF-8, which a folder of a model needs; rename it", folder
        ) from error


def described(path: Path) -> Model:
    """Build the model that config.json and vocabularies.json describe, in float32, without loading its weights.

    Args:
        path: The folder of the model.

    Raises:
        DataError: If a file is missing or damaged, or the files do not describe a model.
        MissingExtraError: If a package that the model needs is not installed.
    """
    task, config = described_options(path)
    symbols = read_json(path / "vocabularies.json")
    with _described(path):
        require_sizes(config, path / WEIGHTS)
        vocabularies = {name: Vocabulary.from_json(listed) for name, listed in symbols.items()}
        model_class = TASKS[task].model_class()
        require_symbols(vocabularies, model_class.outputs)
        with float32_by_default():
            model = model_class.from_saved(config, vocabularies, path / "encoder")
    model.examples = _examples(path / EXAMPLES)
    return model


def described_options(path: Path) -> tuple[str, Any]:
    """Return the task and the configuration that config.json describes.

    Args:
        path: The folder of the model.

    Raises:
        DataError: If the file is missing or damaged, or does not describe a model.
    """
    saved = read_json(path / "config.json")
    with _described(path):
        config = from_dict(TASKS[saved["task"]].config_class(), saved["options"])
        require_possible(config)
        return saved["task"], config


@contextlib.contextmanager
def _described(path: Path) -> Iterator[None]:
    """Raise a DataError for errors that building a model from a damaged description may raise."""
    try:
        yield
    except (DataError, MissingExtraError):
        raise
    except _NO_MODEL as error:
        reason = f"{type(error).__name__} {error}" if isinstance(error, (KeyError, MemoryError)) else error
        raise DataError(
            f"config.json and vocabularies.json do not describe a model ({reason})", path
        ) from error


def _examples(path: Path) -> list[tuple[str, ...]]:
    """Read the examples of a model, each a text or the two texts of a pair; none if there is no file."""
    saved = read_json(path) if path.exists() else []
    fine = isinstance(saved, list) and all(
        isinstance(parts, list) and parts and all(isinstance(part, str) for part in parts) for parts in saved
    )
    if not fine:
        raise DataError("is damaged (expected a list of lists of texts); restore it from a copy", path)
    return [tuple(parts) for parts in saved]


def require_format(path: Path) -> None:
    """Check that a folder holds a finished model in a format that this release reads.

    Raises:
        DataError: If it holds no model, an unfinished one, or one in a newer format; if format.json is damaged; or
            if the path of the folder is not UTF-8.
    """
    if not os.path.isdir(path):
        raise DataError("there is no such model folder", path)
    require_utf8(path)
    if not (path / LAST).exists():
        unfinished = (path / "training" / "run.json").exists()
        remedy = (
            "its training is unfinished; continue with --resume" if unfinished else "it has no format.json"
        )
        raise DataError(f"is not a saved model: {remedy}", path)
    record = read_json(path / LAST)
    if not isinstance(record, dict) or type(record.get("format")) is not int or record["format"] < 1:
        raise DataError("is damaged (no format version); restore it from a copy", path / LAST)
    if record["format"] > FORMAT:
        raise DataError(
            f"has format {record['format']}, but this strukt reads formats up to {FORMAT}; "
            f"install strukt {record.get('strukt')} or newer",
            path,
        )
