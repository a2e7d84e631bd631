"""How the memory of the processor is handled in training."""

from __future__ import annotations

import ctypes
import os

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_GIBIBYTE = 1 << 30

PRIMITIVES = 256
"""The most primitives that oneDNN keeps; its own bound is 1,024."""


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


def give_back_freed_memory() -> None:
    """Gives what `keep_freed_memory` kept back to the system.

    Batches of ever new sizes leave gaps that nothing fits into, and the resident memory of a long training creeps
    upwards. It is meant to be called once an epoch: the pages fault again when they are used.
    Only the C library of GNU can do it; elsewhere nothing is done.

    Source: malloc_trim(3).
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


def bound_primitive_cache() -> None:
    """Has oneDNN keep no more than `PRIMITIVES` primitives, unless `ONEDNN_PRIMITIVE_CACHE_CAPACITY` is set.

    A primitive is compiled for one shape of its operands, and nearly every batch of a training has a shape of its
    own: those of past batches fill the cache and are hardly asked for again. PyTorch multiplies matrices by oneDNN
    in bfloat16. The bound is read once, before the first primitive is made; later calls
    in the same process change nothing.

    Source: oneDNN's guide, "Primitive Cache".
    """
    if "DNNL_PRIMITIVE_CACHE_CAPACITY" not in os.environ:  # its former name, which is still read
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(PRIMITIVES))
