"""The ranges of the parameters of `ChainClassifier`, and their restoration from a file."""

from __future__ import annotations

import math
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

from strukt.checks import arguments
from strukt.errors import DataError
from strukt.sklearn.model import MODEL


def require_settings(estimator: Any) -> None:
    """Check the parameters of an estimator before it is fitted.

    Raises:
        ValueError: If a parameter is out of its range.
    """
    for name in ("c1", "c2", "min_freq", "epsilon", "delta"):
        value = getattr(estimator, name)
        if not (isinstance(value, Real) and 0 <= float(value) < math.inf):
            raise ValueError(f"{name} is {value!r}; expected a finite number of 0 or more")
    rate = estimator.learning_rate
    if not (isinstance(rate, Real) and 0 < float(rate) < math.inf):
        raise ValueError(f"learning_rate is {rate!r}; expected a finite number above 0")
    for name, optional in (("period", False), ("max_iterations", True)):
        value = getattr(estimator, name)
        if not ((isinstance(value, Integral) and int(value) >= 1) or (optional and value is None)):
            also = " or None" if optional else ""
            raise ValueError(f"{name} is {value!r}; expected a whole number of 1 or more{also}")
    for name in ("all_possible_states", "all_possible_transitions", "verbose"):
        arguments.boolean(name, getattr(estimator, name))


def restored(kind: type[Any], content: dict[str, Any], folder: str | PathLike[str]) -> Any:
    """Return an estimator with saved parameters and results of `fit`, but without a model.

    Args:
        kind: The class of the estimator.
        content: The content of model.json, with the entries `parameters` and `results`.
        folder: The folder of the file, for error messages.

    Raises:
        DataError: If an entry is missing or damaged.
    """
    try:
        estimator = kind(**content["parameters"])
        vars(estimator).update(content["results"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"is damaged ({error}); save the model again", Path(folder) / MODEL) from error
    return estimator
