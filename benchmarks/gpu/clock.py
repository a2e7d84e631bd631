"""Times, memory and launches on a GPU, within a budget of seconds."""

from __future__ import annotations

import signal
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

SLICE = 0.1
"""The seconds for which a call is repeated in one measurement."""

SLOW = 0.5
"""The seconds from which a call is not repeated."""

PATIENCE = 10.0
"""The most seconds for one measurement of a peer."""

NO_TIME, TOO_LONG, NO_MEMORY = "no time left", f"over {PATIENCE:.0f} s", "out of memory"
"""The reasons why an action was not measured that could have been."""


class OutOfTimeError(Exception):
    """The seconds for a measurement have passed."""


class Budget:
    """A number of seconds from now on; measurements that would begin later are left out.

    Args:
        seconds: The seconds for everything.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(self._end - time.monotonic(), 0.0)

    @property
    def is_spent(self) -> bool:
        """True if no further measurement should begin."""
        return self.left == 0.0

    def share(self, parts: int) -> Budget:
        """Return the budget of the next of ``parts`` parts: about twice an equal share of what is left."""
        return Budget(self.left * min(2 / (parts + 1), 1.0))


@dataclass(frozen=True)
class Measured:
    """The time and the memory of an action.

    Attributes:
        seconds: The median seconds of a call, until the device has finished.
        bytes: The peak bytes on the device, besides those allocated before.
        first: The seconds of the first call, which may compile.
    """

    seconds: float
    bytes: int
    first: float = 0.0


@dataclass(frozen=True)
class Work:
    """The work of the device in one call: the number of kernels and copies, and their seconds."""

    launches: int
    seconds: float


def measured(action: Callable[[], Any]) -> Measured:
    """Time an action by the clock of the host, after a first call, which may compile."""
    first = _once(action)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    spent = [_once(action)]
    end = time.perf_counter() + (SLICE if spent[0] < SLOW else 0.0)
    while time.perf_counter() < end:
        spent.append(_once(action))
    return Measured(statistics.median(spent), torch.cuda.max_memory_allocated() - before, first)


def attempt(action: Callable[[], Any], budget: Budget, patience: float = float("inf")) -> Measured | str:
    """Return the times of an action, or the reason why there are none: an error, or too little time.

    It is interrupted after ``patience`` seconds, or when the budget is spent.
    """
    if budget.is_spent:
        return NO_TIME
    try:
        with _limit(min(budget.left, patience)):
            return measured(action)
    except OutOfTimeError:
        return NO_TIME if budget.is_spent else TOO_LONG
    except Exception as error:
        return reason(error)


def reason(error: Exception) -> str:
    """Free cached memory of the device after a failure; return its cause in a word or two."""
    torch.cuda.empty_cache()
    return NO_MEMORY if isinstance(error, torch.cuda.OutOfMemoryError) else type(error).__name__


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` in the context after this many seconds, on systems with the signal SIGALRM."""

    def stop(*_: Any) -> None:
        raise OutOfTimeError

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def work(action: Callable[[], Any]) -> Work:
    """Count the device's launches in one call, and their seconds, after a call that compiles."""
    action()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        action()
        torch.cuda.synchronize()
    kernels = [event for event in profiled.events() or () if event.device_type == DeviceType.CUDA]
    return Work(len(kernels), sum(event.time_range.elapsed_us() for event in kernels) / 1e6)


def bandwidth(device: str, size: int = 1 << 30) -> float:
    """Measure the bytes per second, read plus written, of a copy on the device."""
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / measured(lambda: target.copy_(source)).seconds


def barriers(device: str, steps: int = 512, programs: int = 256) -> float:
    """Measure the seconds of a kernel with ``steps`` barriers and little else: a lower bound for recursions."""
    from benchmarks.gpu import floor  # needs Triton

    cells = torch.zeros(programs, floor.CELLS, device=device)
    return work(lambda: floor.steps[(programs,)](cells, steps, floor.CELLS, num_warps=4)).seconds


def _once(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    torch.cuda.synchronize()
    return time.perf_counter() - start
