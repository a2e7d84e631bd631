"""The threads that kernels run on: PyTorch's OpenMP threads if available, else a pool.

PyTorch's parallel operations run on OpenMP threads, which spin for milliseconds while waiting for more work. Other
threads would compete with them for the cores. On the OpenMP threads themselves, a kernel starts sooner and has the
cores to itself. They are called through the C interface of PyTorch's OpenMP library.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

Task = Callable[[int], None]
Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def run(task: Task, count: int) -> None:
    """Call ``task(i)`` once for each i from 0 to ``count - 1``, on at most ``count`` threads.

    Raises:
        BaseException: If a task raises it; all other tasks still run.
    """
    waiting, errors = deque(range(count)), deque[BaseException]()

    def work() -> None:
        """Take the next task until none is left: OpenMP may provide fewer threads than requested."""
        while True:
            try:
                number = waiting.popleft()
            except IndexError:
                return
            try:
                task(number)
            except BaseException as error:  # must not pass through the C library
                errors.append(error)

    _threads.call(work, count)
    if errors:
        raise errors[0]


class _OpenMP:
    """The threads of PyTorch's parallel operations."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._parallel = library.GOMP_parallel
        self._parallel.argtypes = [Callback, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        self._parallel.restype = None

    def call(self, work: Callable[[], None], count: int) -> None:
        """Call ``work`` on at most ``count`` threads at once."""
        self._parallel(Callback(lambda _: work()), None, count, 0)


class _Pool:
    """A pool of threads, created on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._size = 0

    def call(self, work: Callable[[], None], count: int) -> None:
        """Call ``work`` on this thread and on ``count - 1`` threads of the pool at once."""
        futures = [self._sized(count - 1).submit(work) for _ in range(1, count)]
        work()
        for future in futures:
            future.result()

    def _sized(self, size: int) -> ThreadPoolExecutor:
        """Return the pool, replaced by a larger one if it has fewer threads than ``size``."""
        with self._lock:
            if self._executor is None or self._size < size:
                self._executor = ThreadPoolExecutor(size, thread_name_prefix="strukt")
                self._size = size
            return self._executor


def _openmp() -> _OpenMP | None:
    """Return PyTorch's OpenMP threads; None if it has no OpenMP library with the interface of GCC."""
    root = Path(torch.__file__).parent
    for path in (*root.glob("lib/lib*omp*.so*"), *root.parent.glob("torch.libs/lib*omp*.so*")):
        try:
            return _OpenMP(ctypes.CDLL(str(path)))
        except (OSError, AttributeError):
            continue
    return None


def _forget() -> None:
    """Replace all threads by a new pool in a forked child: they do not exist there, and OpenMP would hang."""
    global _threads
    _threads = _Pool()


_threads: _OpenMP | _Pool = _openmp() or _Pool()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
