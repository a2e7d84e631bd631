"""Limits on requests."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits on requests, so that no request can block the service for other requests.

    Attributes:
        words: Maximum number of words of a text.
        body: Maximum number of bytes of the body of a request.
        file: Maximum number of bytes of the body of a request to annotate a file.
        threads: Number of requests that are computed at the same time, each by one thread.
        queue: Maximum number of requests that wait for a thread; 0 to let none wait.
        seconds: Maximum duration of a request in seconds, including the time that it waits. A file is annotated in
            batches, each of which may take as long.

    Raises:
        ValueError: If `queue` is negative, another limit is not positive, or `seconds` is not finite.

    Examples:
        >>> Limits(words=40, seconds=2.0)
        Limits(words=40, body=65536, file=8388608, threads=2, queue=32, seconds=2.0)
    """

    words: int = 150
    body: int = 64 * 1024
    file: int = 8 * 1024 * 1024
    threads: int = 2
    queue: int = 32
    seconds: float = 10.0

    def __post_init__(self) -> None:
        """Check the limits."""
        for name in ("words", "body", "file", "threads", "queue"):
            least = 0 if name == "queue" else 1
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} is {getattr(self, name)}; expected {least} or more")
        if not 0 < self.seconds < math.inf:
            raise ValueError(f"seconds is {self.seconds}; expected a finite number above 0")
