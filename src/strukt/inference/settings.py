"""Checks of the settings that iterative algorithms share."""

from __future__ import annotations


def require_iterations(iterations: int) -> None:
    """Check that there is at least one iteration.

    Raises:
        ValueError: If there is none.
    """
    if iterations < 1:
        raise ValueError(f"iterations is {iterations}; expected at least 1")


def require_damping(damping: float) -> None:
    """Check that what is damped still moves.

    Raises:
        ValueError: If the damping is out of range.
    """
    if not 0 <= damping < 1:
        raise ValueError(f"damping is {damping}; expected a number from 0 to below 1")
