"""The records in the folder of a saved model: its scores, and the environment of its training run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strukt.errors import DataError
from strukt.train.storage import read_object, write_json

LARGEST_SCORE = 1e305
"""Largest score accepted: above exp(700), the largest perplexity reported; differences do not overflow."""

DEV_LOSS = "dev_loss"
"""Name of the loss on the development corpus."""


def read_metrics(folder: Path) -> dict[str, Any]:
    """Read metrics.json: the scores on the development corpus (`dev`), and those of each epoch (`history`).

    After training, it also has the training time in minutes (`minutes`).

    Args:
        folder: The folder of the saved model.

    Raises:
        DataError: If the file is missing or damaged.
    """
    metrics = read_object(folder / "metrics.json")
    epochs = metrics.get("history", [])
    if not isinstance(epochs, list) or not all(map(_are_scores, [metrics.get("dev", {}), *epochs])):
        raise DataError(
            "is damaged (expected dev and history to map names to finite numbers); restore it from a copy",
            folder / "metrics.json",
        )
    return metrics


def save_dev_scores(folder: Path, dev: Mapping[str, float]) -> None:
    """Replace the scores on the development corpus in metrics.json.

    Args:
        folder: The folder of the saved model.
        dev: The scores, by name.

    Raises:
        DataError: If metrics.json is missing or damaged, or cannot be written.
    """
    write_json(folder / "metrics.json", read_metrics(folder) | {"dev": dict(dev)})


def scores(entry: Mapping[str, float]) -> dict[str, float]:
    """Return the scores of an entry of the history, without the epoch, the step and the losses.

    Args:
        entry: The entry `dev` of metrics.json, or one of `history`.

    Examples:
        >>> scores({"epoch": 3, "step": 150, "loss": 0.07, "accuracy": 98.8})
        {'accuracy': 98.8}
    """
    return {name: value for name, value in entry.items() if name not in ("epoch", "step", "loss", DEV_LOSS)}


def read_environment(folder: Path) -> dict[str, Any]:
    """Read environment.json: versions and machine.

    Args:
        folder: The folder of the saved model.

    Raises:
        DataError: If the file is missing or damaged.
    """
    return read_object(folder / "environment.json")


def _are_scores(values: Any) -> bool:
    return isinstance(values, Mapping) and all(map(_is_score, values.values()))


def _is_score(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= LARGEST_SCORE  # False for NaN
