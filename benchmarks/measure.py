"""From raw answers and times to verdicts: errors, medians, ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import torch
from torch import Tensor

TOLERANCE = 1e-3  # float32 peers drift by up to 7e-4 over a chain of 1000 positions


class WrongResultError(Exception):
    """What was timed is wrong, so that there is nothing to report."""


@dataclass
class Measurement:
    """One library, one case, one operation.

    Attributes:
        contestant: The library.
        operation: Key of the family's operations.
        error: Distance from the truth, see `distance`.
        extra: Peak bytes over inputs and imports.
        seconds: Time of every run.
        failure: Why there is no answer; empty if there is one.
        yardstick: Whether something else was computed, for scale.
    """

    contestant: str
    operation: str
    error: float = math.nan
    extra: float = math.nan
    seconds: list[float] = field(default_factory=list)
    failure: str = ""
    yardstick: bool = False

    @property
    def right(self) -> bool:
        """There is an answer, and it is the truth up to float32 rounding."""
        return not self.failure and self.error <= TOLERANCE

    @property
    def median(self) -> float:
        """Median of the times in seconds."""
        return median(self.seconds)


def distance(answer: Sequence[Tensor], truth: Sequence[Tensor]) -> float:
    """Largest difference over all entries, relative to the largest entry of each tensor where that exceeds 1.

    Raises:
        ValueError: The shapes differ.
    """
    errors = []
    for given, expected in zip(answer, truth, strict=True):
        if given.shape != expected.shape:
            raise ValueError(f"expected shape {tuple(expected.shape)}, got {tuple(given.shape)}")
        size = max(1.0, float(expected.abs().max()))
        errors.append(float((given.double() - expected).abs().max()) / size)
    return math.nan if any(math.isnan(error) for error in errors) else max(errors)


def best_peer(measurements: Iterable[Measurement], own: str, operation: str) -> Measurement | None:
    """The fastest right peer at an operation."""
    peers = [m for m in measurements if m.contestant != own and m.operation == operation and m.right]
    return min(peers, key=lambda peer: peer.median, default=None)


def ratio(measurements: Sequence[Measurement], own: str, operation: str) -> float:
    """How many times faster than the best peer `own` is; nan if no peer is right."""
    peer = best_peer(measurements, own, operation)
    mine = next(m for m in measurements if m.contestant == own and m.operation == operation)
    return peer.median / mine.median if peer else math.nan


def require_right(measurements: Iterable[Measurement], own: str, case: str) -> None:
    """Refuses to go on when our own result is wrong.

    Raises:
        WrongResultError: An operation of `own` failed or is wrong.
    """
    for measured in measurements:
        if measured.contestant == own and not measured.right:
            reason = measured.failure or f"error {measured.error:.1e}, allowed {TOLERANCE:.0e}"
            raise WrongResultError(f"{case}: {measured.operation} of {own} is wrong ({reason})")


def require_confirmed(measurements: Iterable[Measurement], own: str, case: str) -> None:
    """Refuses to go on when nobody else supports the reference that judges all of them.

    Raises:
        WrongResultError: Of the peers that answered an operation, none is right.
    """
    answered = [
        measured
        for measured in measurements
        if measured.contestant != own and not measured.failure and not measured.yardstick
    ]
    unconfirmed = {measured.operation for measured in answered}
    unconfirmed -= {measured.operation for measured in answered if measured.right}
    if unconfirmed or not answered:
        what = ", ".join(sorted(unconfirmed)) or "any operation"
        raise WrongResultError(f"{case}: no peer agrees with {own} in {what}")


def as_tensors(arrays: Iterable[np.ndarray]) -> tuple[Tensor, ...]:
    """NumPy arrays from a worker as tensors."""
    return tuple(torch.from_numpy(array) for array in arrays)
