"""A saved model: a folder of safetensors and JSON that can be moved and loaded anywhere.

config.json         the task and its configuration
vocabularies.json   words, characters, labels ...
weights.safetensors in float32 (or onnx/, see `strukt.train.onnx_model`)
metrics.json        scores on the development corpus, of the best epoch and of each epoch, and training time
environment.json    versions and machine of the training run
examples.json       a few inputs of the development corpus, for demos; the model works without this file
encoder/            tokenizer and configuration of a pretrained encoder, if there is one
format.json         version of this format; written last, so that a folder with this file is complete
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from torch import Tensor

from strukt.errors import DataError
from strukt.tasks.common.model import Model
from strukt.train.intact import fault_of_weights, require_weights
from strukt.train.model_folder import GRAPHS, HUB, WEIGHTS, described, require_format, writing
from strukt.train.storage import read_tensors, write_tensors


def save(
    model: Model,
    folder: str | os.PathLike[str],
    metrics: dict[str, Any] | None = None,
    weights: dict[str, Tensor] | None = None,
    environment: dict[str, Any] | None = None,
) -> None:
    """Save a model to a folder. Weights of other floating-point types, such as float64, are saved in float32.

    Args:
        model: The model to save.
        folder: The folder; created if it does not exist. A model in it is replaced.
        metrics: The scores, as `fit` returns them; none by default.
        weights: Weights to save, with the names of the model's ``state_dict``; those of the model by default.
        environment: Versions and machine of the training run; those of this process by default.

    Raises:
        DataError: If a weight is NaN or too large, so that the model could not be loaded again; if a file cannot
            be written; or if the path of the folder is not UTF-8.
        ValueError: If `weights` has other names than the model's ``state_dict``.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag.config import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> with TemporaryDirectory() as folder:
        ...     save(Tagger.from_corpus(Config(), [sentence]), folder)
        ...     sorted(path.name for path in Path(folder).glob("*.safetensors"))
        ['weights.safetensors']
    """
    tensors = model.state_dict() if weights is None else weights
    if weights is not None and (wrong := weights.keys() ^ model.state_dict().keys()):
        names = ", ".join(sorted(wrong))
        raise ValueError(f"weights lacks names of the model's state_dict, or has others: {names}")
    if fault := fault_of_weights(model, tensors):
        raise DataError(f"was not written: {fault}; train the model again", folder)
    with writing(model, folder, metrics, environment) as path:
        write_tensors(path / WEIGHTS, {name: _single(value) for name, value in tensors.items()})


def load(folder: str | os.PathLike[str]) -> Model:
    """Load a saved model on the CPU, in evaluation mode, ready to predict.

    Args:
        folder: The folder of the model, or `hf://user/name` for a model on the Hugging Face Hub, which is
            downloaded. `hf://user/name@revision` selects a revision; the latest is the default.

    Raises:
        DataError: If the folder holds no model, an unfinished model, a model in a newer format, or a damaged file;
            or if the hub has no such model or cannot be reached.
        MissingExtraError: If a package that is needed to download, build or run the model is not installed.

    Examples:
        >>> from strukt.train.saved_model import save
        >>> from tempfile import TemporaryDirectory
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag.config import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> with TemporaryDirectory() as folder:
        ...     save(Tagger.from_corpus(Config(), [sentence]), folder)
        ...     model = load(folder)
        >>> model.task, model.vocabularies["labels"].symbols, model.training
        ('tag', ('NNS', 'VBP'), False)
    """
    path = local_folder(folder)
    require_format(path)
    if (path / GRAPHS).is_dir() and not (path / WEIGHTS).exists():
        from strukt.train import onnx_model

        return onnx_model.load(path)
    model = described(path)
    load_weights(model, path / WEIGHTS)
    return model.eval()


def _single(tensor: Tensor) -> Tensor:
    """Return a tensor in float32 if its type is floating-point, else unchanged."""
    return tensor.float() if tensor.is_floating_point() else tensor


def local_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder of a saved model; a model on the hub, `hf://user/name`, is downloaded to the cache.

    Raises:
        DataError: If the hub has no such model or cannot be reached.
        MissingExtraError: If the package that downloads models is not installed.
    """
    if not str(folder).startswith(HUB):
        return Path(folder)
    from strukt.train.hub_download import download

    return Path(download(str(folder)))


def load_weights(model: Model, path: Path) -> None:
    """Load weights from a file into a model.

    Args:
        model: The model, on any device.
        path: The safetensors file of the weights.

    Raises:
        DataError: If the file is missing, damaged or of another model, or if its numbers are invalid.
    """
    try:
        tensors = read_tensors(path)
        require_weights(model, tensors, path)
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise DataError(f"does not fit the model of its folder: {reason}", path) from error
