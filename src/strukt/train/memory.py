"""Settings of memory on the CPU during training: the heap of the C library, and oneDNN's cache."""

from __future__ import annotations

import ctypes
import os

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_GIBIBYTE = 1 << 30

PRIMITIVES = 256
"""Maximum number of primitives that oneDNN caches; its default is 1,024."""


def keep_freed_memory() -> None:
    """Let the C library keep freed memory, instead of returning it to the system at once.

    Every training step allocates the same large blocks. If they come from the system, each page faults at the
    first access, which can take most of the time of a step on virtual machines.
    Only the GNU C library has this setting; with others, the function does nothing.

    Source: mallopt(3).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _GIBIBYTE)
        mallopt(_M_TRIM_THRESHOLD, 2 * _GIBIBYTE - 1)


def give_back_freed_memory() -> None:
    """Return to the system the memory that `keep_freed_memory` kept.

    Batches of varying sizes fragment the heap, so that the resident memory of a long training run grows.
    Call this once per epoch only, because the returned pages fault again when they are used.
    Only the GNU C library supports it; with others, the function does nothing.

    Source: malloc_trim(3).
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


def bound_primitive_cache() -> None:
    """Limit oneDNN's cache to `PRIMITIVES` primitives, unless `ONEDNN_PRIMITIVE_CACHE_CAPACITY` is set.

    A primitive is compiled for one shape of its operands, and nearly every training batch has another shape.
    The cache fills with primitives that are rarely used again. PyTorch multiplies matrices in bfloat16 with
    oneDNN, which reads the limit once, before it makes the first primitive; later calls in the same process have
    no effect.

    Source: oneDNN's guide, "Primitive Cache".
    """
    if "DNNL_PRIMITIVE_CACHE_CAPACITY" not in os.environ:  # the former name, which oneDNN still reads
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(PRIMITIVES))
