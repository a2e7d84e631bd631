"""Checks of the settings that iterative algorithms share."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def require_iterations(iterations: int) -> None:
    """Raise an error unless there is at least one iteration.

    Raises:
        ValueError: If there are fewer.
    """
    if iterations < 1:
        raise ValueError(f"iterations is {iterations}; expected at least 1")


def require_damping(damping: float | Tensor, name: str = "damping") -> None:
    """Raise an error unless the damping is from 0 to below 1.

    Raises:
        ValueError: If the damping is out of range.
    """
    given = torch.as_tensor(damping)
    if not bool(((given >= 0) & (given < 1)).all()):
        raise ValueError(f"{name} is {damping}; expected a number from 0 to below 1")


def require_step(step_size: float | Tensor, name: str = "step_size") -> None:
    """Raise an error unless the step size is above 0 and at most 1.

    Raises:
        ValueError: If the step size is out of range.
    """
    given = torch.as_tensor(step_size)
    if not bool(((given > 0) & (given <= 1)).all()):
        raise ValueError(f"{name} is {step_size}; expected a number above 0 and up to 1")


def require_one_of(name: str, value: str, known: Sequence[str]) -> None:
    """Raise an error unless an option has one of its known values.

    Raises:
        ValueError: If its value is another.
    """
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected {', '.join(known[:-1])} or {known[-1]}")
