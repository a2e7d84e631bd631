"""A cache of tables by size, bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import torch

from strukt.kernels.memory import is_capturing

MOST = 1 << 28
"""The number of bytes above which the least recently used tables are dropped; the last used one is always kept."""

Made = TypeVar("Made", bound="tuple[Any, ...]")


class ArrayCache(Generic[Made]):
    """A cache of tuples of arrays or tensors, by key, for any number of threads."""

    def __init__(self) -> None:
        self._cache: OrderedDict[Hashable, Made] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the tuple of a key, made now if it is not cached."""
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        made = make()
        with self._lock:
            if key not in self._cache:
                self._cache[key] = made
                self._bytes += size(made)
            while self._bytes > MOST and len(self._cache) > 1:
                self._bytes -= size(self._cache.popitem(last=False)[1])
        return made


class DeviceCache(ArrayCache[Made]):
    """A cache of tensors on a device that are kept for good if a CUDA graph reads them."""

    def __init__(self) -> None:
        super().__init__()
        self._captured: dict[Hashable, Made] = {}

    def get_on(self, device: torch.device, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the tuple of a key and a device; it is never dropped if a CUDA graph is being captured now."""
        made = self.get((key, device), make)
        if is_capturing(device):
            self._captured[key, device] = made
        return made


def size(made: tuple[Any, ...]) -> int:
    """Return the bytes of the arrays and tensors of a tuple, and of nested tuples."""
    return sum(size(value) if isinstance(value, tuple) else getattr(value, "nbytes", 0) for value in made)
