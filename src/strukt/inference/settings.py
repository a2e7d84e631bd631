"""Checks of the settings that iterative algorithms share."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import torch
from torch import Tensor


def require_iterations(iterations: int, name: str = "iterations", least: int = 1) -> None:
    """Raise ValueError unless the number of iterations is a whole number and large enough."""
    if isinstance(iterations, bool) or not isinstance(iterations, Integral):
        raise ValueError(f"{name} is {iterations!r}; expected a whole number")
    if iterations < least:
        raise ValueError(f"{name} is {iterations}; expected at least {least}")


def require_tolerance(tol: float) -> None:
    """Raise ValueError unless the tolerance is at least 0."""
    if not tol >= 0.0:
        raise ValueError(f"tol is {tol}; expected at least 0")


def require_positive_tolerance(tol: float) -> None:
    """Raise ValueError unless the tolerance is above 0, which a method that only approaches its limit needs."""
    if not tol > 0.0:
        raise ValueError(f"tol is {tol}; expected a positive number")


def holds(condition: bool | Tensor) -> bool:
    """Return True if a condition is true; for a tensor, if it is true everywhere.

    Conditions on numbers need no tensor, which would have no value in ``with torch.device("meta")``.
    """
    return condition if isinstance(condition, bool) else bool(torch.as_tensor(condition).all())


def require_damping(damping: float | Tensor, name: str = "damping") -> None:
    """Raise ValueError unless the damping is 0 or more and below 1."""
    if not holds((damping >= 0) & (damping < 1)):
        raise ValueError(f"{name} is {damping}; expected a number from 0 to below 1")


def require_step(step_size: float | Tensor, name: str = "step_size") -> None:
    """Raise ValueError unless the step size is above 0 and at most 1."""
    if not holds((step_size > 0) & (step_size <= 1)):
        raise ValueError(f"{name} is {step_size}; expected a number above 0 and up to 1")


def for_each(name: str, setting: float | Tensor, scores: Tensor) -> Tensor:
    """Return a setting for each variable, ``(V,)``.

    Raises:
        ValueError: If it is neither a number nor ``(V,)``.
    """
    value = torch.as_tensor(setting, dtype=scores.dtype, device=scores.device)
    if value.dim() > 1 or value.shape[-1:] not in ((), (1,), scores.shape[1:]):
        raise ValueError(f"{name} has shape {tuple(value.shape)}; expected a number or {tuple(scores.shape[1:])}")
    return value.expand(scores.shape[1])


def require_one_of(name: str, value: str, known: Sequence[str]) -> None:
    """Raise ValueError unless the value of an option is among the known ones."""
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected {', '.join(known[:-1])} or {known[-1]}")
