"""A pool of threads that compute for the event loop, with a bounded queue."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from strukt.errors import StruktError
from strukt.serve.limits import Limits

Result = TypeVar("Result")


class OverloadError(StruktError):
    """The service is overloaded, for example because its queue is full."""


class LateError(StruktError):
    """The deadline of a request has passed, or its client has closed the connection."""


BUSY = "all threads are busy with abandoned requests; try again later"
"""The error message for requests that arrive while `Workers.lost` is True."""


@dataclass(frozen=True)
class Deadline:
    """The deadline of a request, which long computations check regularly.

    Attributes:
        time: The deadline, on the clock `time.monotonic`; infinite if there is none.
        hung_up: An event that is set when the client closes the connection before the deadline.

    Examples:
        >>> Deadline().check()
        >>> Deadline(time.monotonic() - 1).check()
        Traceback (most recent call last):
        strukt.serve.workers.LateError: nobody waits for the rest
    """

    time: float = math.inf
    hung_up: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise an exception if nobody waits for the result of the computation any more.

        Raises:
            LateError: If the deadline has passed, or the client has closed the connection.
        """
        if self.hung_up.is_set() or time.monotonic() > self.time:
            raise LateError("nobody waits for the rest")


class Workers:
    """A pool of threads that compute at the same time, because kernels release the interpreter lock.

    Args:
        limits: The number of threads, and the maximum number of waiting calls and duration of a call.

    Attributes:
        limits: The limits of the pool.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._threads = ThreadPoolExecutor(
            limits.threads, "strukt-serve", initializer=torch.set_num_threads, initargs=(1,)
        )
        self._slots = threading.Semaphore(limits.threads + limits.queue)
        self._late: set[Future[Any]] = set()

    @property
    def late(self) -> int:
        """Number of threads that still compute abandoned requests."""
        return len(self._late)

    @property
    def lost(self) -> bool:
        """True if all threads compute abandoned requests, so that no request makes progress."""
        return self.late >= self.limits.threads

    async def run(self, function: Callable[[Deadline], Result]) -> Result:
        """Call a function in one of the threads; return its result, or raise its exception.

        Args:
            function: The function to call, with the deadline of the call as argument.

        Raises:
            OverloadError: If the queue is full.
            LateError: If there is no result in time. A running call cannot be stopped from outside: until it ends,
                it keeps its thread, and `late` counts it.
            CancelledError: If the task was cancelled, because the client has closed the connection. A waiting call
                is dropped; a running call keeps its thread, and `late` counts it until it ends.
        """
        if not self._slots.acquire(blocking=False):
            raise OverloadError(BUSY if self.lost else "too many requests are waiting; try again later")
        deadline = Deadline(time.monotonic() + self.limits.seconds)
        try:
            future = self._threads.submit(function, deadline)
        except BaseException:
            self._slots.release()
            raise
        future.add_done_callback(lambda _: self._slots.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.seconds)
        except (TimeoutError, asyncio.TimeoutError, LateError):  # the last if the function checked first
            began = self._abandon(future)
            reason = "give less text, or a smaller k" if began else "the queue was too long; try again later"
            raise LateError(f"there is no answer within {self.limits.seconds:g} seconds: {reason}") from None
        except asyncio.CancelledError:
            deadline.hung_up.set()
            self._abandon(future)
            raise

    def _abandon(self, future: Future[Any]) -> bool:
        """Abandon a call, and return whether it had begun; a running call is counted as late until it ends."""
        if future.cancelled():  # before it began
            return False
        self._late.add(future)
        future.add_done_callback(self._late.discard)
        return True

    def close(self) -> None:
        """Accept no more calls, and drop waiting calls."""
        self._threads.shutdown(wait=False, cancel_futures=True)
