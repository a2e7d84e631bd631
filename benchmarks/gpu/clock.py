"""Times, memory and launches on a GPU, within a budget of seconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

SLICE = 0.1
"""Seconds of one measurement, after the first call."""

SLOW = 0.5
"""Seconds from which a call is measured only once."""


class Budget:
    """What is left of some seconds; measurements that begin after them are left out.

    Args:
        seconds: For everything.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def is_spent(self) -> bool:
        """Whether nothing more should begin."""
        return time.monotonic() >= self._end


@dataclass(frozen=True)
class Measured:
    """One action: median seconds with the wait for the device, and peak bytes besides its inputs."""

    seconds: float
    bytes: int


@dataclass(frozen=True)
class Work:
    """What the device does in one call: kernels and copies, and seconds of them."""

    launches: int
    seconds: float


def measured(action: Callable[[], Any]) -> Measured:
    """Time an action by its caller's clock, after a first call, which may compile."""
    _once(action)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    spent = [_once(action)]
    end = time.perf_counter() + (SLICE if spent[0] < SLOW else 0.0)
    while time.perf_counter() < end:
        spent.append(_once(action))
    return Measured(statistics.median(spent), torch.cuda.max_memory_allocated() - before)


def attempt(action: Callable[[], Any], budget: Budget) -> Measured | str:
    """Time an action; the error that it ends in, or why it is left out, if it has no time."""
    if budget.is_spent:
        return "no time left"
    try:
        return measured(action)
    except Exception as error:
        torch.cuda.empty_cache()
        return "out of memory" if isinstance(error, torch.cuda.OutOfMemoryError) else type(error).__name__


def work(action: Callable[[], Any]) -> Work:
    """Count what the device does in one call, after one that compiles."""
    action()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        action()
        torch.cuda.synchronize()
    kernels = [event for event in profiled.events() or () if event.device_type == DeviceType.CUDA]
    return Work(len(kernels), sum(event.time_range.elapsed_us() for event in kernels) / 1e6)


def bandwidth(size: int = 1 << 30) -> float:
    """Measure bytes a second, read plus written, of a copy on the device."""
    source = torch.empty(size, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * size / measured(lambda: target.copy_(source)).seconds


def barriers(steps: int = 512, programs: int = 256) -> float:
    """Measure the seconds of a kernel whose programs only pass barriers: a floor for chains of so many steps."""
    from benchmarks.gpu import floor  # needs Triton

    cells = torch.zeros(programs, floor.CELLS, device="cuda")
    return work(lambda: floor.steps[(programs,)](cells, steps, floor.CELLS, num_warps=4)).seconds


def _once(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    torch.cuda.synchronize()
    return time.perf_counter() - start
