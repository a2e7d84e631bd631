"""A caching allocator for charts, results and workspaces.

The first use of fresh memory costs a page fault for each page; for megabytes, this takes longer than the kernels.
Freed blocks are therefore reused, as in PyTorch's caching allocator for GPUs.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

MOST_ON_GPU = 1 << 31
"""The most bytes of one workspace on a GPU; calls that need more go to other kernels, or to the CPU."""

SMALLEST = 1 << 16
"""The bytes below which the C library's allocator is as good."""

MOST = (1 << 29) + (1 << 20)
"""The largest number of cached bytes: two blocks of 256 MiB, a result and its gradient, with their margins."""

LINE = 64
"""The bytes of a cache line, to which arrays are aligned: vectors across two lines take twice as long."""

UNALIGNED = 1 << 12
"""The bytes below which arrays are not aligned: for these, aligning takes longer than it saves."""

_OF_NUMPY: dict[torch.dtype, type[np.generic]] = {
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.int64: np.int64,
    torch.bool: np.bool_,
}

_kept: dict[int, list[npt.NDArray[np.uint8]]] = {}
_total = 0


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Return an uninitialised array.

    From `SMALLEST` bytes on, its memory is reused once the array and all its views are gone.

    Examples:
        >>> empty((3, 2)).shape
        (3, 2)
    """
    count = math.prod(shape)
    size = count * np.dtype(dtype).itemsize
    if size < UNALIGNED:
        return np.empty(shape, dtype)
    if size < SMALLEST:
        return _aligned(np.empty(size + LINE, np.uint8), dtype, count).reshape(shape)
    block = _take(_size_class(size))
    # A view of an array keeps only the owner of its memory alive. To NumPy, this array is the owner, since its
    # memory is a buffer: it is freed with the last of its views.
    whole = np.frombuffer(block.data, np.uint8)
    weakref.finalize(whole, _give_back, block).atexit = False
    return _aligned(whole, dtype, count).reshape(shape)


def empty_tensor(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return an uninitialised tensor of the type and on the device of another.

    Examples:
        >>> empty_tensor((2, 3), torch.zeros(1)).shape
        torch.Size([2, 3])
    """
    if like.device.type != "cpu" or like.dtype not in _OF_NUMPY:
        return like.new_empty(shape)
    return torch.from_numpy(empty(shape, _OF_NUMPY[like.dtype]))


def zeros(like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Return zeros in the shape of a tensor, made without PyTorch's threads."""
    return filled(tuple(like.shape), 0, dtype or like.dtype)


def filled(shape: tuple[int, ...], value: float, dtype: torch.dtype) -> Tensor:
    """Return a tensor of one value, made without PyTorch's threads.

    Examples:
        >>> filled((1, 3), -1, torch.int64)
        tensor([[-1, -1, -1]])
    """
    array = empty(shape, _OF_NUMPY[dtype])
    array.fill(value)
    return torch.from_numpy(array)


def no_events(*shape: int) -> Tensor:
    """Return events whose entries are all -1, made without PyTorch's threads."""
    return filled(shape, -1, torch.int64)


def is_capturing(device: torch.device) -> bool:
    """Return True if a CUDA graph is being captured, which will read and write the memory that is used now."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def _aligned(whole: npt.NDArray[np.uint8], dtype: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
    """Return ``count`` numbers from the first boundary of a cache line on, in an array of bytes."""
    return np.frombuffer(whole, dtype, count, -whole.ctypes.data % LINE)


def _size_class(size: int) -> int:
    """Return the bytes of a block for ``size`` bytes: about an eighth more at most, the same for similar sizes."""
    step = 1 << max(size.bit_length() - 4, 0)
    return -(-size // step) * step + LINE


def _take(size: int) -> npt.NDArray[np.uint8]:
    """Return a block of exactly ``size`` bytes, from the cache if it has one."""
    global _total
    try:
        block = _kept[size].pop()
    except (KeyError, IndexError):
        # A bytearray would be filled with zeros, and NumPy asks for huge pages, which may have to be made first.
        return torch.empty(size, dtype=torch.uint8, device="cpu").numpy()
    _total -= size
    return block


def _give_back(block: npt.NDArray[np.uint8]) -> None:
    """Put a block into the cache, unless it is full."""
    global _total
    if _total + len(block) <= MOST:
        _total += len(block)
        _kept.setdefault(len(block), []).append(block)
