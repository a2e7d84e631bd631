"""How much the service takes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds on requests, so that none can take the service away from the others.

    Attributes:
        words: The most words of a text.
        body: The most bytes of a request.
        threads: How many requests are computed at a time, each by one thread.
        queue: How many more may wait.
        seconds: How long a request may take, the waiting included.
    """

    words: int = 150
    body: int = 64 * 1024
    threads: int = 2
    queue: int = 32
    seconds: float = 10.0
