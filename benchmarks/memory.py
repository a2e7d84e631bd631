"""Resident memory of this process, from /proc (Linux); NaN on other systems."""

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
    """Make allocations fail beyond `size` bytes, before the machine begins to swap, or kills another process."""
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def resident() -> float:
    """Return the resident bytes, after freed memory has been returned to the system."""
    gc.collect()
    if not PROCESS.exists():
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)
    return _status("VmRSS")


def peak(action: Callable[[], Result]) -> tuple[Result, float]:
    """Run `action`; return its result and the largest number of resident bytes meanwhile."""
    if not PROCESS.exists():
        return action(), float("nan")
    resident()
    (PROCESS / "clear_refs").write_text("5")  # resets the high-water mark to the present size
    return action(), _status("VmHWM")


def _status(field: str) -> float:
    lines = (PROCESS / "status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field + ":"))
