"""Exported models: onnxruntime computes the scores, strukt's kernels find the structures.

The folder is that of a saved model, with graphs in place of weights:

onnx/NAME.onnx      one for each network of the model and its encoder: tensors in, tensors out
"""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import torch
from torch import nn

from strukt.errors import DataError, SettingError
from strukt.tasks.common.model import Model
from strukt.tasks.common.sentence_model import SentenceModel
from strukt.train.model_folder import GRAPHS, described
from strukt.train.onnx_graph import FormGraph, Graph

FORM_VECTORS = "encoder.form_vectors"
"""The network whose vectors are cached.

Of its weights, int8 rounds the embedding tables only: matrix products in int8 depend on the rest of a batch.
"""


def load(folder: str | os.PathLike[str]) -> Model:
    """Load an exported model, ready to predict; `saved_model.load` calls this function.

    Args:
        folder: The folder of the exported model.

    Returns:
        The model of the task, without weights: it can predict and be evaluated, but not be trained or saved.

    Raises:
        DataError: If a file is missing or damaged, or models of the task are never exported.
        MissingExtraError: If onnxruntime is not installed.
    """
    path = Path(folder)
    with torch.device("meta"):
        model = described(path)
    model.to_empty(device="cpu")  # takes no memory unless it is read
    if not isinstance(model, SentenceModel):
        raise DataError(f"has graphs, but models of the task {model.task} are never exported", path)
    for name in network_names(model):
        owner, method = network_place(model, name)
        signature, graph = inspect.signature(getattr(owner, method)), path / GRAPHS / f"{name}.onnx"
        if name == FORM_VECTORS:
            setattr(owner, method, FormGraph(graph, signature))
        else:
            setattr(owner, method, Graph(graph, signature, model.encoder.with_vectors))
    model.register_state_dict_pre_hook(_refuse)  # type: ignore[no-untyped-call]
    return model.eval()


def network_place(model: nn.Module, name: str) -> tuple[nn.Module, str]:
    """Return the module that a network belongs to, and the name of its method that computes the network."""
    path, _, method = name.rpartition(".")
    return model.get_submodule(path), method


def network_names(model: SentenceModel) -> list[str]:
    """Return the names of all networks of a model, those of its encoder first, as `encoder.NAME`."""
    return [*(f"encoder.{name}" for name in model.encoder.networks), *model.networks]


def _refuse(module: nn.Module, prefix: str, keep_vars: bool) -> None:  # noqa: ARG001
    """Raise SettingError in place of saving weights: a hook of ``state_dict``."""
    raise SettingError("an exported model has no weights; take the one that it was exported from")
