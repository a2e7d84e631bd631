"""Checkpoints, from which training resumes bit for bit.

A checkpoint is a folder such as `step-00000400` with weights, averages, the optimizer's state and the best weights
so far (safetensors), and `state.json`: the progress, the state of the gradient scaler, and the sha256 of each
safetensors file. Order, dropout and learning rate are functions of seed and progress, so no random state is saved.
A checkpoint is written to a temporary folder, which is then renamed. The last two are kept.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from strukt.data.files.digests import digest
from strukt.errors import DataError
from strukt.train.storage import read_json, read_tensors, write_json, write_tensors

KEPT = 2
"""Number of checkpoints that are kept: the last, and one to fall back to."""


@dataclass
class Progress:
    """The progress of a training run.

    Attributes:
        epoch: Number of completed epochs.
        batch: Number of completed batches of the current epoch.
        step: Number of completed steps.
        loss: Running mean of the loss of a batch.
        seconds: Time spent training, in this run and in those that it resumes.
        best_epoch: The best epoch on the development corpus, counted from 1; 0 before the first evaluation.
        history: For each epoch, its number, the step, the running mean of the loss, and the scores. If a time
            limit ends a run within an epoch, the last entry has the number of the last completed epoch; no
            checkpoint includes this entry.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    best_epoch: int = 0
    history: list[dict[str, float]] = field(default_factory=list)


@dataclass
class Checkpoint:
    """The state of a training run, from which it can resume.

    Attributes:
        progress: Progress of the run.
        tensors: The groups `weights`, `average` (the averaged weights), `best` (those of the best epoch) and
            `optimizer` (its state), each with tensors by name.
        precision: State of the gradient scaler; empty unless training uses float16.
    """

    progress: Progress
    tensors: dict[str, dict[str, Tensor]]
    precision: dict[str, Any] = field(default_factory=dict)


def write(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, and remove all but the last `KEPT`.

    Args:
        folder: The folder of all checkpoints of the run.
        checkpoint: The checkpoint to write.
    """
    part = folder / ".part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for group, tensors in checkpoint.tensors.items():
        write_tensors(part / f"{group}.safetensors", tensors)
    sums = {file.name: digest(file).sha256 for file in sorted(part.iterdir())}
    progress = dataclasses.asdict(checkpoint.progress)
    write_json(part / "state.json", {"progress": progress, "precision": checkpoint.precision, "sha256": sums})
    place = folder / f"step-{checkpoint.progress.step:08d}"
    shutil.rmtree(place, ignore_errors=True)
    os.replace(part, place)
    for old in _all(folder)[KEPT:]:
        shutil.rmtree(old)


def newest(folder: Path) -> Checkpoint | None:
    """Return the last intact checkpoint; warn of later ones that are damaged.

    Args:
        folder: The folder of all checkpoints of the run.

    Returns:
        The checkpoint, or None if there is none.

    Raises:
        DataError: If there are checkpoints, but all of them are damaged.
    """
    damaged: DataError | None = None
    for place in _all(folder):
        try:
            return _read(place)
        except DataError as error:
            damaged = error
            warnings.warn(f"{error}; falling back to the checkpoint before it", stacklevel=2)
    if damaged is not None:
        raise DataError("all checkpoints are damaged; start again in another folder", folder) from damaged
    return None


def flatten_optimizer(optimizer: Optimizer) -> dict[str, Tensor]:
    """Return the state of an optimizer as tensors named `INDEX.NAME`, by the index of the parameter.

    Args:
        optimizer: An optimizer whose state per parameter consists of tensors, such as Adam.
    """
    state: dict[int, dict[str, Tensor]] = optimizer.state_dict()["state"]
    return {f"{index}.{name}": tensor for index, tensors in state.items() for name, tensor in tensors.items()}


def restore_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor]) -> None:
    """Restore the state that `flatten_optimizer` returned.

    Args:
        optimizer: An optimizer of the same parameters in the same order.
        tensors: The state, which is copied.
    """
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = tensor.clone()
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def seed_step(seed: int, step: int, rank: int) -> None:
    """Seed PyTorch before a step, so that all random numbers in it depend on seed, step and process alone.

    Args:
        seed: The seed of the run.
        step: Number of steps before this one.
        rank: Index of the process.
    """
    mixed = hashlib.sha256(f"{seed}/{step}/{rank}".encode()).digest()
    torch.manual_seed(int.from_bytes(mixed[:7], "big"))


def _all(folder: Path) -> list[Path]:
    """Return the folders of all checkpoints, newest first."""
    return sorted(folder.glob("step-*"), reverse=True)


def _read(place: Path) -> Checkpoint:
    """Read a checkpoint from its folder; raise `DataError` if a file is missing or damaged."""
    state = read_json(place / "state.json")
    try:
        sums = dict(state["sha256"])
        progress = Progress(**state["progress"])
        precision = dict(state["precision"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"is damaged ({error!r})", place / "state.json") from error
    for name, expected in sums.items():
        if not (place / name).exists() or digest(place / name).sha256 != expected:
            raise DataError("is damaged: its checksum differs from state.json", place / name)
    tensors = {Path(name).stem: read_tensors(place / name) for name in sums}
    return Checkpoint(progress, tensors, precision)
