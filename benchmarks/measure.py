"""The evaluation of answers and times: errors, medians and ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import torch
from torch import Tensor

TOLERANCE = 1e-3
"""The largest error of a right answer: float32 peers drift by up to 7e-4 over a chain of 1000 positions."""


class WrongResultError(Exception):
    """The error of a wrong result, of which no times may be reported."""


@dataclass
class Measurement:
    """One library, one case, one operation.

    Attributes:
        contestant: The library.
        operation: Key of the family's operations.
        error: Distance from the truth; see `distance`.
        extra: Peak bytes besides inputs, imports and the memory kept after the warm-up.
        seconds: Time of every run.
        failure: The reason why there is no answer; empty if there is one.
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
        """True if there is an answer, and it equals the truth up to `TOLERANCE`."""
        return not self.failure and self.error <= TOLERANCE

    @property
    def median(self) -> float:
        """The median of the times in seconds."""
        return median(self.seconds)


def distance(answer: Sequence[Tensor], truth: Sequence[Tensor]) -> float:
    """Return the largest difference of entries, relative to the largest entry of its tensor if that exceeds 1.

    Raises:
        ValueError: If the shapes differ.
    """
    errors = []
    for actual, expected in zip(answer, truth, strict=True):
        if actual.shape != expected.shape:
            raise ValueError(f"expected shape {tuple(expected.shape)}, got {tuple(actual.shape)}")
        size = max(1.0, float(expected.abs().max()))
        errors.append(float((actual.double() - expected).abs().max()) / size)
    return math.nan if any(math.isnan(error) for error in errors) else max(errors)


def best_peer(measurements: Iterable[Measurement], own: str, operation: str) -> Measurement | None:
    """Return the fastest peer with a right answer to an operation; None if there is none."""
    peers = [m for m in measurements if m.contestant != own and m.operation == operation and m.right]
    return min(peers, key=lambda peer: peer.median, default=None)


def ratio(measurements: Sequence[Measurement], own: str, operation: str) -> float:
    """Return the time of the best peer divided by that of `own`; NaN if no peer is right."""
    peer = best_peer(measurements, own, operation)
    mine = next(m for m in measurements if m.contestant == own and m.operation == operation)
    return peer.median / mine.median if peer else math.nan


def require_right(measurements: Iterable[Measurement], own: str, case: str) -> None:
    """Check that the results of `own` are right.

    Raises:
        WrongResultError: If an operation of `own` failed or is wrong.
    """
    for measured in measurements:
        if measured.contestant == own and not measured.right:
            reason = measured.failure or f"error {measured.error:.1e}, allowed {TOLERANCE:.0e}"
            raise WrongResultError(f"{case}: {measured.operation} of {own} is wrong ({reason})")


def require_confirmed(measurements: Iterable[Measurement], own: str, case: str) -> None:
    """Check that some peer agrees with the reference, which is strukt's own, for each operation that peers answer.

    Raises:
        WrongResultError: If no peer that answered an operation is right, or none answered any.
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
    """Convert NumPy arrays from a worker to tensors."""
    return tuple(torch.from_numpy(array) for array in arrays)
