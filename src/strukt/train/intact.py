"""Whether the files of a saved model can be its own: sizes, symbols and weights, before they are used."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError
from strukt.tasks.common.symbols import Forms
from strukt.train.storage import require_tensors

NOT_SIZES = ("trainer", "optimizer")
"""Parts of a configuration that say nothing of the size of the model."""

LARGEST_WEIGHT = 1e9
"""A larger weight means that training diverged: in float32, the product of a few of them is infinite."""

_SEPARATOR = re.compile(r"[\n\r\0]")


def require_sizes(config: Any, weights: Path) -> None:
    """Compares the sizes of a configuration with the file of the weights, before a network of them is made.

    Args:
        config: The configuration of the task.
        weights: The file; nothing is said if it is not there.

    Raises:
        ValueError: If an option is larger than the file has bytes, so that its weights cannot be in there.
        DataError: If the file is damaged.
    """
    if not weights.is_file():
        return
    require_tensors(weights)
    room = weights.stat().st_size
    for name, value in _numbers(dataclasses.asdict(config)):
        if value > room:
            raise ValueError(f"{name} is {value}, and weights.safetensors has {room:,} bytes")


def require_symbols(vocabularies: Mapping[str, Vocabulary], outputs: Forms) -> None:
    """Looks for symbols that no file could hold, before layers are made for them.

    Args:
        vocabularies: Those of the model.
        outputs: As the class of the model has it.

    Raises:
        ValueError: If a symbol has half of a character, or a line end; or a predicted one has not its
            form, or there is none.
    """
    for name, vocabulary in vocabularies.items():
        for symbol in vocabulary.symbols:
            try:
                symbol.encode()
            except UnicodeEncodeError:
                raise ValueError(f"{name} has half of a character: {symbol!r}") from None
            if _SEPARATOR.search(symbol):
                raise ValueError(f"{name} has a symbol with a line end or NUL: {symbol!r}")
        if name not in outputs:
            continue
        if not vocabulary.symbols:
            raise ValueError(f"{name} is empty; expected at least one symbol")
        for symbol in vocabulary.symbols:
            if not outputs[name].fullmatch(symbol):
                raise ValueError(f"{name} has a symbol that no corpus could have: {symbol!r}")


def require_weights(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Compares the types of tensors with those of a model, and their numbers with those that weights have.

    Args:
        model: The model.
        tensors: What is to become its weights.
        path: Their file.

    Raises:
        DataError: If a tensor is of another type, or `fault_of_weights` finds a fault.
    """
    for name, own in model.state_dict().items():
        given = tensors.get(name)
        if given is not None and isinstance(own, Tensor) and given.dtype != own.dtype:
            raise DataError(
                f"{name} is of type {_named(given)}; expected {_named(own)}; restore it from a copy", path
            )
    if fault := fault_of_weights(model, tensors):
        raise DataError(f"{fault}; train the model again", path)


def fault_of_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> str | None:
    """Return the first invalid number among weights: NaN, or a parameter beyond `LARGEST_WEIGHT`; None if valid.

    Minus infinity is a value of buffers, such as the scores of what is forbidden; NaN is none of any.

    Args:
        model: The model.
        tensors: What is to become its weights, or to be saved.
    """
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    for name, given in tensors.items():
        if not given.is_floating_point():
            continue
        if bool(given.isnan().any()):
            return f"{name} has NaN among its numbers"
        if name in parameters and bool((given.abs() > LARGEST_WEIGHT).any()):
            return f"{name} has weights beyond {LARGEST_WEIGHT:g}"
    return None


def _named(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _numbers(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in options.items():
        if isinstance(value, dict):
            if name not in NOT_SIZES:
                yield from _numbers(value, f"{prefix}{name}.")
        elif type(value) is int:
            yield f"{prefix}{name}", value
