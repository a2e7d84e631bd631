"""Learning-rate schedules, as functions of the progress alone."""

from __future__ import annotations

from collections.abc import Iterable


def rate(done: float, warmup: float) -> float:
    """Return the learning rate as a fraction of the highest: it rises linearly from 0, then falls linearly to 0.

    Args:
        done: The fraction of the training run that is done, in [0, 1].
        warmup: The fraction of the training run during which the rate rises, in [0, 1].

    Examples:
        >>> [rate(done, warmup=0.5) for done in (0.25, 0.5, 0.75, 1.0)]
        [0.5, 1.0, 0.5, 0.0]
    """
    if done < warmup:
        return done / warmup
    return max(1 - done, 0.0) / (1 - warmup) if warmup < 1 else 1.0


def halvings(qualities: Iterable[tuple[float, ...]], patience: int) -> int:
    """Count the halvings of the learning rate: one whenever `patience` epochs in a row brought no improvement.

    Args:
        qualities: The quality of each epoch, as a tuple; tuples are compared entry by entry.
        patience: Number of epochs without a new best one, after which the rate is halved.

    Examples:
        >>> halvings([(1.0,), (3.0,), (2.0,), (3.0,), (2.0,), (1.0,)], patience=2)
        2
    """
    best: tuple[float, ...] = ()
    waited, count = 0, 0
    for quality in qualities:
        waited = 0 if quality > best else waited + 1
        best = max(best, quality)
        if waited == patience:
            waited, count = 0, count + 1
    return count
