"""Threads that compute for the event loop, with a queue before them that has an end."""

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
    """The queue is full."""


class LateError(StruktError):
    """There was not enough time."""


BUSY = "all threads compute for requests that nobody waits for any more; try again later"


@dataclass(frozen=True)
class Deadline:
    """The end of a request, which whatever takes long looks at now and then.

    Attributes:
        time: From which on nobody waits for the answer any more, as of `time.monotonic`.
        hung_up: Set when whoever asked has gone before.

    Examples:
        >>> Deadline().check()
        >>> Deadline(time.monotonic() - 1).check()
        Traceback (most recent call last):
        strukt.serve.workers.LateError: nobody waits for the rest
    """

    time: float = math.inf
    hung_up: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Ends a computation that nobody waits for.

        Raises:
            LateError: The time has come, or whoever asked has gone.
        """
        if self.hung_up.is_set() or time.monotonic() > self.time:
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
        """Return what a function returns, computed by one of the threads.

        Args:
            function: Gets the time until which somebody waits for it.

        Raises:
            OverloadError: As many calls wait as may.
            LateError: There is no result in time. A call that is under way cannot be stopped from outside; it
                keeps its place, and is counted by `late`, until it ends.
            CancelledError: The task was cancelled, because whoever asked has gone; the same holds for the call,
                and one that still waits is dropped.
        """
        if not self._room.acquire(blocking=False):
            raise OverloadError(BUSY if self.lost else "too many requests wait already; try again later")
        deadline = Deadline(time.monotonic() + self.limits.seconds)
        try:
            future = self._threads.submit(function, deadline)
        except BaseException:
            self._room.release()
            raise
        future.add_done_callback(lambda _: self._room.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.seconds)
        except (TimeoutError, asyncio.TimeoutError, LateError):  # two classes before Python 3.11; a thread's own
            began = self._give_up(future)
            reason = "give less text, or a smaller k" if began else "others were before it; try again later"
            raise LateError(f"there is no answer within {self.limits.seconds:g} seconds: {reason}") from None
        except asyncio.CancelledError:
            deadline.hung_up.set()
            self._give_up(future)
            raise

    def _give_up(self, future: Future[Any]) -> bool:
        """Forget a call, which is counted as late until it ends; return whether it had begun."""
        if future.cancelled():  # while it waited
            return False
        self._late.add(future)
        future.add_done_callback(self._late.discard)
        return True

    def close(self) -> None:
        """Takes no more calls and forgets those that wait."""
        self._threads.shutdown(wait=False, cancel_futures=True)
