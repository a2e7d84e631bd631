"""Resident memory of this process, from /proc (Linux); nan where there is none."""

from __future__ import annotations

import ctypes
import gc
import resource
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
PROCESS = Path("/proc/self")


def limit(size: int) -> None:
    """Lets allocations fail beyond `size` bytes, before the machine starts to swap or kills a neighbour."""
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def resident() -> float:
    """Bytes in memory now, after freed memory was handed back to the system."""
    gc.collect()
    if not PROCESS.exists():
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)
    return _status("VmRSS")


def peak(action: Callable[[], Result]) -> tuple[Result, float]:
    """Runs `action`; returns its result and the largest number of bytes in memory meanwhile."""
    if not PROCESS.exists():
        return action(), float("nan")
    resident()
    (PROCESS / "clear_refs").write_text("5")  # sets the high-water mark back to what is resident now
    return action(), _status("VmHWM")


def _status(field: str) -> float:
    lines = (PROCESS / "status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field + ":"))
