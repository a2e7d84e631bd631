"""Networks of exported models: graphs that onnxruntime runs, called like the methods they were exported from."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from strukt.errors import DataError, MissingExtraError

KEPT_FORMS = 30_000
"""Maximum number of word forms whose vectors are cached, unless a single batch has more."""

Prepare = Callable[[dict[str, Tensor]], dict[str, Tensor]]
"""A function that maps the inputs of an encoder to those that its graph reads: `Encoder.with_vectors`."""


class Graph:
    """A network that onnxruntime runs; pickles and copies read its file again.

    Args:
        path: The file of the graph.
        signature: The signature of the method that was exported.
        prepare: Applied to each dictionary among the arguments.

    Raises:
        DataError: If the file is missing or damaged.
        MissingExtraError: If onnxruntime is not installed.
    """

    def __init__(self, path: Path, signature: inspect.Signature, prepare: Prepare = dict) -> None:
        self._path, self._signature, self._prepare = path.absolute(), signature, prepare
        self._session = _session(path)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._session = _session(self._path)

    def __call__(self, *arguments: Any) -> Any:
        """Return the outputs of the exported method for its arguments: a tensor, or a tuple of tensors."""
        tensors = named(self._signature, prepared(arguments, self._prepare))
        inputs = {name: tensor.numpy() for name, tensor in tensors.items()}
        outputs = tuple(map(torch.from_numpy, self._session.run(None, inputs)))
        return outputs if len(outputs) > 1 else outputs[0]


class FormGraph(Graph):
    """`FromWords.form_vectors` as a graph: the vector of a word form is computed once, and cached."""

    def __init__(self, path: Path, signature: inspect.Signature) -> None:
        super().__init__(path, signature)
        self._rows: dict[bytes, int] = {}
        self._table = torch.empty(0, self._session.get_outputs()[0].shape[-1], dtype=torch.float32)
        self._lock = threading.Lock()

    @override
    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_lock"}

    @override
    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._lock = threading.Lock()

    @override
    def __call__(self, words: Tensor, affixes: Tensor, characters: Tensor) -> Tensor:
        """Return the vectors of word forms, ``(forms, size)``, in O(forms) time if all of them are cached.

        Args:
            words: ``(forms,)``, the number of each form in the vocabulary of words.
            affixes: ``(forms, kinds)``, the numbers of its prefixes and suffixes.
            characters: ``(forms, longest)``, the numbers of its characters; 0 is padding.
        """
        keys = _keys(torch.cat([words.unsqueeze(1), affixes, characters], 1))
        with self._lock:
            fresh = self._fresh(keys)
            if fresh:
                chosen = torch.tensor(list(fresh.values()))
                self._keep(list(fresh), super().__call__(words[chosen], affixes[chosen], characters[chosen]))
            return self._table[torch.tensor([self._rows[key] for key in keys], dtype=torch.long)]

    def _fresh(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Return the index in `keys` of each form without a cached vector; empty a cache that would overflow."""
        fresh = {key: index for index, key in enumerate(keys) if key not in self._rows}
        if len(self._rows) + len(fresh) <= KEPT_FORMS:
            return fresh
        self._rows.clear()
        return {key: index for index, key in enumerate(keys)}

    def _keep(self, keys: Sequence[bytes], vectors: Tensor) -> None:
        """Add vectors ``(forms, size)`` of new forms to the cache, whose table grows by doubling."""
        first = len(self._rows)
        end = first + len(keys)
        if end > self._table.shape[0]:
            longer = self._table.new_empty(max(end, 2 * first), self._table.shape[1])
            longer[:first] = self._table[:first]
            self._table = longer
        self._table[first:end] = vectors
        self._rows.update(zip(keys, range(first, end), strict=True))


def _session(path: Path) -> Any:
    """Return onnxruntime's session of a graph.

    Raises:
        DataError: If the file is missing or damaged.
        MissingExtraError: If onnxruntime is not installed.
    """
    require("onnxruntime")
    import onnxruntime

    if not path.exists():
        raise DataError("is missing; export the model again", path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    # Idle threads would spin, and take processors from the threads of the next graph and of PyTorch.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no base class
        raise DataError(f"is damaged ({error}); export the model again", path) from error


def prepared(arguments: Sequence[Any], prepare: Prepare) -> list[Any]:
    """Return the arguments of a network, with each dictionary replaced by the tensors that its graph reads."""
    return [prepare(each) if isinstance(each, dict) else each for each in arguments]


def named(signature: inspect.Signature, arguments: Sequence[Any]) -> dict[str, Tensor]:
    """Return tensors by name: arguments by the name of their parameter, entries of dictionaries by their key."""
    tensors: dict[str, Tensor] = {}
    for name, argument in signature.bind(*arguments).arguments.items():
        tensors |= argument if isinstance(argument, Mapping) else {name: argument}
    return tensors


def require(*packages: str) -> None:
    """Raise MissingExtraError if a package cannot be imported."""
    for package in packages:
        try:
            __import__(package)
        except ImportError as error:
            raise MissingExtraError(package, "onnx") from error


def _keys(rows: Tensor) -> list[bytes]:
    """Return the numbers of each row as bytes, without zeros at the end, which are padding."""
    size = rows.shape[1] * rows.element_size()
    text = rows.numpy().tobytes()
    return [text[start : start + size].rstrip(b"\0") for start in range(0, len(text), size)]
