"""A saved model: a folder of safetensors and JSON that can be moved and loaded anywhere.

config.json         the task and its configuration
vocabularies.json   words, characters, labels ...
weights.safetensors (or onnx/, see `strukt.train.onnx_export`)
metrics.json        what it reached on the development corpus, epoch by epoch
environment.json    what it was trained with
examples.json       a few inputs of the development corpus, to be shown; folders of earlier versions have none
encoder/            tokenizer and configuration of a pretrained encoder, if there is one
format.json         version of this format; written last, so that a folder that has it is complete
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch import Tensor

from strukt.data.files.digests import explained
from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError, MissingExtraError
from strukt.tasks import TASKS
from strukt.tasks.common.model import Model
from strukt.tasks.common.options import from_dict
from strukt.tasks.common.ranges import require_possible
from strukt.train.environment import environment as this_environment
from strukt.train.intact import fault_of_weights, require_sizes, require_symbols, require_weights
from strukt.train.storage import read_json, read_tensors, write_json, write_tensors

FORMAT = 1
"""From the first release on raised where older ones could not read what is written; old formats stay readable."""

GRAPHS = "onnx"
"""The folder that holds, in place of weights, the graphs of an exported model."""

EXAMPLES = "examples.json"

PARTS = (
    "config.json",
    "vocabularies.json",
    "weights.safetensors",
    "metrics.json",
    "environment.json",
    EXAMPLES,
    "encoder",
    GRAPHS,
)
"""All that a model writes into its folder, but `format.json`."""

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
"""What making a model raises where its description is damaged."""

HUB = "hf://"
"""With what the names of models begin that are on the hub of Hugging Face, and not in a folder."""


def save(
    model: Model,
    folder: str | os.PathLike[str],
    metrics: dict[str, Any] | None = None,
    weights: dict[str, Tensor] | None = None,
    environment: dict[str, Any] | None = None,
) -> None:
    """Save a model.

    Args:
        model: The model.
        folder: Made if it is not there; a model in it is replaced.
        metrics: What it reached.
        weights: To be saved in place of the model's own.
        environment: What it was trained with; if None, that of this process.

    Raises:
        DataError: If it could not be loaded: a weight is none, or too large.
    """
    tensors = model.state_dict() if weights is None else weights
    if fault := fault_of_weights(model, tensors):
        raise DataError(f"is not written: {fault}; train the model again", folder)
    with writing(model, folder, metrics, environment) as path:
        write_tensors(path / "weights.safetensors", tensors)


@contextlib.contextmanager
def writing(
    model: Model,
    folder: str | os.PathLike[str],
    metrics: dict[str, Any] | None,
    environment: dict[str, Any] | None,
) -> Iterator[Path]:
    """Write all of a model but its weights, for which there is time as long as the context lasts.

    Args:
        model: The model.
        folder: As for `save`.
        metrics: As for `save`.
        environment: As for `save`.

    Yields:
        The folder, which is not complete before the context is left.
    """
    here = this_environment()
    path = Path(folder)
    with explained(path, "written"):
        path.mkdir(parents=True, exist_ok=True)
        (path / "format.json").unlink(missing_ok=True)
    write_json(path / "config.json", {"task": model.task, "options": dataclasses.asdict(model.config)})
    symbols = {name: vocabulary.to_json() for name, vocabulary in model.vocabularies.items()}
    write_json(path / "vocabularies.json", symbols)
    write_json(path / EXAMPLES, model.examples)
    yield path
    write_json(path / "metrics.json", metrics or {})
    write_json(path / "environment.json", environment or here)
    model.save_assets(path / "encoder")
    write_json(path / "format.json", {"format": FORMAT, "strukt": here["strukt"]})


def require_no_others(folder: str | os.PathLike[str]) -> None:
    """Looks whether a folder without a model holds files that one would replace, of whatever they are.

    Args:
        folder: Where a new model is to go.

    Raises:
        DataError: If it does.
    """
    for name in PARTS:
        if os.path.lexists(os.path.join(folder, name)):
            raise DataError(f"holds {name}, which the model would replace; give another folder", folder)


def load(folder: str | os.PathLike[str]) -> Model:
    """Load a saved model, ready to predict, on the CPU.

    Args:
        folder: Where it was saved or moved to; or `hf://user/name`, on the hub of Hugging Face, from where it is
            fetched, with `@revision` behind it for another than the last one.

    Raises:
        DataError: If the folder holds no model, an unfinished one, or a damaged file (named); or the hub has
            no such model, or cannot be reached.
        MissingExtraError: If what it takes to fetch the model, or to run its graphs, is not installed.
    """
    if str(folder).startswith(HUB):
        from strukt.train.hub import fetched

        folder = fetched(str(folder))
    path = Path(folder)
    _check_format(path)
    if (path / GRAPHS).is_dir() and not (path / "weights.safetensors").exists():
        from strukt.train import onnx_export

        return onnx_export.load(path)
    model = described(path)
    load_weights(model, path / "weights.safetensors")
    return model.eval()


def described(path: Path) -> Model:
    """Return the model that a folder describes, before its weights are loaded.

    Args:
        path: Where it was saved or moved to.

    Raises:
        DataError: If a file is missing or damaged.
    """
    saved = read_json(path / "config.json")
    symbols = read_json(path / "vocabularies.json")
    try:
        task = TASKS[saved["task"]]
        config = from_dict(task.config_class(), saved["options"])
        require_possible(config)
        require_sizes(config, path / "weights.safetensors")
        vocabularies = {name: Vocabulary.from_json(listed) for name, listed in symbols.items()}
        model_class = task.model_class()
        require_symbols(vocabularies, model_class.outputs)
        model = model_class.from_saved(config, vocabularies, path / "encoder")
    except (DataError, MissingExtraError):
        raise
    except _NO_MODEL as error:
        reason = f"{type(error).__name__} {error}" if isinstance(error, (KeyError, MemoryError)) else error
        raise DataError(
            f"config.json and vocabularies.json do not describe a model ({reason})", path
        ) from error
    model.examples = _examples(path / EXAMPLES)
    return model


def _examples(path: Path) -> list[tuple[str, ...]]:
    saved = read_json(path) if path.exists() else []
    fine = isinstance(saved, list) and all(
        isinstance(parts, list) and parts and all(isinstance(part, str) for part in parts) for parts in saved
    )
    if not fine:
        raise DataError("is damaged (expected a list of lists of texts); restore it from a copy", path)
    return [tuple(parts) for parts in saved]


def load_weights(model: Model, path: Path) -> None:
    """Put weights from a file into a model.

    Args:
        model: The model.
        path: The file.

    Raises:
        DataError: If the file is missing, damaged, or of another model, or its numbers are none.
    """
    try:
        tensors = read_tensors(path)
        require_weights(model, tensors, path)
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise DataError(f"does not fit the model of its folder: {reason}", path) from error


def _check_format(path: Path) -> None:
    if not os.path.isdir(path):
        raise DataError("there is no such model folder", path)
    if not (path / "format.json").exists():
        unfinished = (path / "training").is_dir()
        remedy = (
            "its training is not finished; go on with --resume" if unfinished else "it has no format.json"
        )
        raise DataError(f"is no saved model: {remedy}", path)
    found = read_json(path / "format.json")
    if not isinstance(found, dict) or type(found.get("format")) is not int or found["format"] < 1:
        raise DataError("is damaged (no format version); restore it from a copy", path / "format.json")
    if found["format"] > FORMAT:
        raise DataError(
            f"has format {found['format']}, and this strukt reads up to {FORMAT}; "
            f"install strukt {found.get('strukt')} or newer",
            path,
        )
