"""Checks of the files of a saved model before they are used: sizes, symbols and weights."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError
from strukt.tasks.common.config import OF_THE_RUN
from strukt.tasks.common.options import flat
from strukt.tasks.common.symbols import Forms
from strukt.tasks.common.uses import is_read
from strukt.train.storage import require_tensors

NOT_SIZES = ("minimum_count", "context", "longest", "iterations", "budget", "order")
"""Names of options, without their groups, whose numbers limit or count something other than weights."""

LARGEST_WEIGHT = 1e9
"""A larger weight means that training diverged: the product of a few of them overflows in float32."""

_SEPARATOR = re.compile(r"[\n\r\0]")


def require_sizes(config: Any, weights: Path) -> None:
    """Compare the sizes in a configuration with the size of the weights file, before the network is built.

    Args:
        config: The configuration of the task.
        weights: The file of the weights; if it is missing, nothing is checked.

    Raises:
        ValueError: If an option exceeds the number of bytes of the file, which is then too small for its weights.
        DataError: If the file is damaged.
    """
    if not weights.is_file():
        return
    require_tensors(weights)
    size = weights.stat().st_size
    for name, value in flat(dataclasses.asdict(config)).items():
        if name.startswith(OF_THE_RUN) or name.rpartition(".")[2] in NOT_SIZES or not is_read(config, name):
            continue
        if type(value) is int and value > size:
            raise ValueError(f"{name} is {value}, but weights.safetensors has {size:,} bytes")


def require_symbols(vocabularies: Mapping[str, Vocabulary], outputs: Forms) -> None:
    """Reject symbols that no corpus file can hold, before layers are built for them.

    Args:
        vocabularies: The vocabularies of the model.
        outputs: For each vocabulary that the model predicts, the pattern that its symbols must match.

    Raises:
        ValueError: If a symbol has a lone surrogate, a line end or NUL; if a predicted symbol does not match its
            pattern; or if a predicted vocabulary is empty.
    """
    for name, vocabulary in vocabularies.items():
        for symbol in vocabulary.symbols:
            try:
                symbol.encode()
            except UnicodeEncodeError:
                raise ValueError(f"{name} has a lone surrogate: {symbol!r}") from None
            if _SEPARATOR.search(symbol):
                raise ValueError(f"{name} has a symbol with a line end or NUL: {symbol!r}")
        if name not in outputs:
            continue
        if not vocabulary.symbols:
            raise ValueError(f"{name} is empty; expected at least one symbol")
        for symbol in vocabulary.symbols:
            if not outputs[name].fullmatch(symbol):
                raise ValueError(f"{name} has a symbol that no corpus can have: {symbol!r}")


def require_weights(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Check the types and the values of tensors before they are loaded as weights.

    Args:
        model: The model that is to load them.
        tensors: The new weights by name.
        path: The file of the tensors, for error messages.

    Raises:
        DataError: If a tensor's type differs from that in the model, or if `fault_of_weights` finds a fault.
    """
    for name, parameter in model.state_dict().items():
        tensor = tensors.get(name)
        if tensor is not None and isinstance(parameter, Tensor) and tensor.dtype != parameter.dtype:
            raise DataError(
                f"{name} is of type {_named(tensor)}; expected {_named(parameter)}; restore it from a copy",
                path,
            )
    if fault := fault_of_weights(model, tensors):
        raise DataError(f"{fault}; train the model again", path)


def fault_of_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> str | None:
    """Describe the first tensor with NaN or, in a parameter, a weight beyond `LARGEST_WEIGHT`; None without one.

    Buffers may hold -inf, such as the scores of forbidden transitions.

    Args:
        model: The model, whose names distinguish parameters from buffers.
        tensors: Weights to load or to save, by name.
    """
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            continue
        if bool(tensor.isnan().any()):
            return f"{name} has NaN among its numbers"
        if name in parameters and bool((tensor.abs() > LARGEST_WEIGHT).any()):
            return f"{name} has weights beyond {LARGEST_WEIGHT:g}"
    return None


def _named(tensor: Tensor) -> str:
    """Return the type of a tensor for a message, such as float32."""
    return str(tensor.dtype).removeprefix("torch.")
