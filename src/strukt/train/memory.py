"""How the memory of the processor is handled in training."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_GIBIBYTE = 1 << 30


def keep_freed_memory() -> None:
    """Has the C library keep memory that is freed, instead of giving it back to the system at once.

    Every step of a training asks for the same large blocks again. Where they come fresh from the system, each
    page faults when it is touched first, which on virtual machines can take most of the time of a step.
    Only the C library of GNU knows this setting; elsewhere nothing is done.

    Source: mallopt(3).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _GIBIBYTE)
        mallopt(_M_TRIM_THRESHOLD, 2 * _GIBIBYTE - 1)
