"""Training that starts from a saved model instead of random weights."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from strukt.data.sentence import Sentence
from strukt.errors import DataError, SettingError, StruktError
from strukt.tasks.common.config import OF_THE_RUN
from strukt.tasks.common.model import Model
from strukt.tasks.common.options import flat
from strukt.tasks.common.sentences import trainable_sentences
from strukt.tasks.common.unknown_labels import is_known
from strukt.train import saved_model
from strukt.train.model_folder import WEIGHTS, described_options, require_format

CORPORA = ("train", "dev")
"""Options that name the corpora of a run."""


def options_of(folder: str | os.PathLike[str], task: str) -> Any:
    """Return the configuration of a saved model of a task.

    Args:
        folder: The folder of the model, or a model on the Hugging Face Hub, as in `strukt.load`.
        task: The task that the model is expected to have.

    Raises:
        DataError: If the folder holds no model, a damaged one, or one without weights, as exported to ONNX.
        StruktError: If the model is of another task.
    """
    path = saved_model.local_folder(folder)
    require_format(path)
    known, config = described_options(path)
    if known != task:
        raise StruktError(f"{folder}: is a model of the task {known}; expected an initial model for {task}")
    if not (path / WEIGHTS).exists():
        raise DataError("has no weights to train; start from the model that was exported", path)
    return config


def require_same_options(folder: str | os.PathLike[str], task: str, config: Any) -> None:
    """Check that a run can start from a saved model.

    Args:
        folder: The folder of the model, or a model on the Hugging Face Hub, as in `strukt.load`.
        task: The task of the run.
        config: The configuration of the run.

    Raises:
        DataError: If `options_of` raises it.
        SettingError: If an option other than those of the run differs from the model's.
        StruktError: If the model is of another task.
    """
    before, now = (flat(dataclasses.asdict(options)) for options in (options_of(folder, task), config))
    files = (*CORPORA, *config.files)
    for name in before:
        if name not in files and not name.startswith(OF_THE_RUN) and before[name] != now[name]:
            raise SettingError(
                f"--{name} is {now[name]!r}, but {before[name]!r} in the initial model {folder}; omit the option"
            )


def begin_from(
    folder: str | os.PathLike[str], config: Any, sentences: Sequence[Sentence]
) -> tuple[Model, Sequence[Sentence]]:
    """Load a model to train further; return it with the sentences whose labels it knows.

    Args:
        folder: The folder of the model, or a model on the Hugging Face Hub, as in `strukt.load`.
        config: The configuration of the run, which becomes that of the model; see `require_same_options`.
        sentences: The training corpus.

    Raises:
        DataError: If the model is damaged, or if it knows the labels of no sentence.
        SettingError: If the model has no weights.

    Warns:
        UserWarning: If sentences are left out, because they have labels that the model does not predict.
    """
    model = saved_model.load(folder)
    if not any(True for _ in model.parameters()):
        raise SettingError(f"the initial model {folder} has no weights to start from; omit --initial_model")
    model.config = config
    known = [is_known(model, sentence) for sentence in sentences]
    if not any(known):
        raise DataError(f"has no sentence whose labels the model in {folder} predicts", config.train or None)
    fault = "sentences have labels that the initial model does not predict"
    return model, trainable_sentences(sentences, known, fault)
