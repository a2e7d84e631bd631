"""Saved hidden Markov models: one safetensors file, with the form of the model as JSON in its metadata."""

from __future__ import annotations

import json
import os
from inspect import signature
from typing import Any, TypeVar

import safetensors
from torch import Tensor

from strukt.errors import DataError
from strukt.structures.hmm.blocked import Blocked
from strukt.structures.hmm.emissions.categorical import Categorical
from strukt.structures.hmm.emissions.embedded import Embedded
from strukt.structures.hmm.emissions.gaussian import Gaussian
from strukt.structures.hmm.emissions.gaussian_mixture import GaussianMixture
from strukt.structures.hmm.emissions.poisson import Poisson
from strukt.structures.hmm.parameters import HMMParameters
from strukt.structures.hmm.transitions import Banded, Dense, LowRank
from strukt.tensor_file import write_tensor_file

Model = TypeVar("Model", bound=HMMParameters)

FORMAT = 1
PARTS: dict[str, dict[str, type]] = {
    "transition": {kind.__name__: kind for kind in (Dense, LowRank, Banded)},
    "emission": {
        kind.__name__: kind for kind in (Categorical, Embedded, Blocked, Gaussian, GaussianMixture, Poisson)
    },
}
"""The classes that can be saved, by name. Their attributes have the names of their constructors' arguments."""


def save(path: str | os.PathLike[str], model: HMMParameters) -> None:
    """Write a model to one file, atomically.

    Raises:
        ValueError: If a part is of a class that is not in `PARTS`.
        DataError: If the file cannot be written.
    """
    form: dict[str, Any] = {"format": FORMAT}
    tensors = {"initial": model.initial}
    for name, kinds in PARTS.items():
        part = getattr(model, name)
        if kinds.get(type(part).__name__) is not type(part):
            raise ValueError(
                f"the {name} is a {type(part).__name__}; expected one of {', '.join(kinds)} to save it"
            )
        arguments = {argument: getattr(part, argument) for argument in signature(type(part)).parameters}
        form[name] = {"kind": type(part).__name__}
        for argument, value in arguments.items():
            if isinstance(value, Tensor):
                tensors[f"{name}.{argument}"] = value
            elif value is not None:
                form[name][argument] = value
    copies = {name: tensor.detach().clone().contiguous().cpu() for name, tensor in tensors.items()}
    write_tensor_file(path, copies, {"strukt.hmm": json.dumps(form)})


def load(path: str | os.PathLike[str], kind: type[Model]) -> Model:
    """Read a model that `save` has written.

    Raises:
        DataError: If the file is missing or damaged, or not such a model.
    """
    try:
        with safetensors.safe_open(os.fspath(path), "pt") as file:
            form = json.loads((file.metadata() or {}).get("strukt.hmm", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
    except FileNotFoundError as error:
        raise DataError("is missing", path) from error
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise DataError(f"is damaged ({error}); restore it from a copy", path) from error
    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise DataError(f"is not a hidden Markov model of format {FORMAT}; save it again with HMM.save", path)
    try:
        parts = {name: _part(name, form[name], tensors) for name in PARTS}
        return kind(tensors["initial"], **parts, validate_args=True)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"is damaged ({error}); restore it from a copy", path) from error


def _part(name: str, form: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    """Build the transition or the emission, as ``name`` says, from its form and its tensors."""
    kind, *rest = form.items()
    fields = {
        key.removeprefix(f"{name}."): value for key, value in tensors.items() if key.startswith(f"{name}.")
    }
    return PARTS[name][kind[1]](**fields, **dict(rest))
