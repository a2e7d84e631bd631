"""Threads that compute for the event loop, with a queue before them that has an end."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from strukt.errors import StruktError
from strukt.serve.limits import Limits

Result = TypeVar("Result")


class OverloadError(StruktError):
    """The queue is full."""


class LateError(StruktError):
    """There was not enough time."""


@dataclass(frozen=True)
class Deadline:
    """The end of a request, which whatever takes long looks at now and then.

    Attributes:
        time: From which on nobody waits for the answer any more, as of `time.monotonic`.

    Examples:
        >>> Deadline().check()
        >>> Deadline(time.monotonic() - 1).check()
        Traceback (most recent call last):
        strukt.serve.workers.LateError: nobody waits for the rest
    """

    time: float = math.inf

    def check(self) -> None:
        """Ends a computation that nobody waits for.

        Raises:
            LateError: The time has come.
        """
        if time.monotonic() > self.time:
            raise LateError("nobody waits for the rest")


class Workers:
    """A few threads, of which each computes with one core: kernels give the interpreter free.

    Args:
        limits: How many threads there are, how many calls may wait for them, and how long a call may take.

    Attributes:
        limits: The limits.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._threads = ThreadPoolExecutor(
            limits.threads, "strukt-serve", initializer=torch.set_num_threads, initargs=(1,)
        )
        self._room = threading.Semaphore(limits.threads + limits.queue)
        self._late: set[Future[Any]] = set()

    @property
    def late(self) -> int:
        """How many threads still compute what nobody waits for any more."""
        return len(self._late)

    @property
    def lost(self) -> bool:
        """Whether that holds for all of them, so that no request gets on."""
        return self.late >= self.limits.threads

    async def run(self, function: Callable[[Deadline], Result]) -> Result:
        """What a function returns, computed by one of the threads.

        Args:
            function: Gets the time until which somebody waits for it.

        Raises:
            OverloadError: As many calls wait as may.
            LateError: There is no result in time. A call that is under way cannot be stopped from outside; it
                keeps its place, and is counted by `late`, until it ends.
        """
        if not self._room.acquire(blocking=False):
            raise OverloadError("too many requests wait already; try again later")
        try:
            future = self._threads.submit(function, Deadline(time.monotonic() + self.limits.seconds))
        except BaseException:
            self._room.release()
            raise
        future.add_done_callback(lambda _: self._room.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.seconds)
        except (TimeoutError, asyncio.TimeoutError):  # two classes before Python 3.11
            if future.running():
                self._late.add(future)
                future.add_done_callback(self._late.discard)
            raise LateError(
                f"there is no answer within {self.limits.seconds:g} seconds; give less text, or a smaller k"
            ) from None

    def close(self) -> None:
        """Takes no more calls and forgets those that wait."""
        self._threads.shutdown(wait=False, cancel_futures=True)
