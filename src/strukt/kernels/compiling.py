"""A line on standard error where a person waits for the compiler, which works when kernels are first used."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

PATIENCE = 2.0
"""Seconds of compiling after which it is said."""


class Notice:
    """Listens to Numba and says once, while kernels compile, what the person waits for.

    Kernels that are loaded from the cache are not compiled, and Numba tells nothing of them. Compilations come
    one at a time, within each other: Numba holds a lock around them.

    Args:
        patience: Seconds of compiling, over all kernels together, after which it is said.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._left = patience
        self._depth = 0
        self._began = 0.0
        self._timer: threading.Timer | None = None
        self._said = threading.Event()

    def notify(self, event: Any) -> None:
        """Take note of the start or the end of a compilation, as listeners of Numba do."""
        dispatcher = event.data["dispatcher"]
        if self._said.is_set() or not dispatcher.py_func.__module__.startswith("strukt."):
            return
        if event.is_start:
            self._depth += 1
            if self._depth == 1:
                self._begin(dispatcher.stats.cache_path is not None)
        elif self._depth:
            self._depth -= 1
            if self._depth == 0:
                self._end()

    def _begin(self, kept: bool) -> None:
        self._began = time.monotonic()
        self._timer = threading.Timer(max(self._left, 0.0), self._say, (kept,))
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._left -= time.monotonic() - self._began

    def _say(self, kept: bool) -> None:
        self._said.set()
        if sys.stderr is not None:  # in Windows programs without a console there is none
            print(KEPT if kept else LOST, file=sys.stderr, flush=True)

    def silence(self) -> None:
        """Say nothing, as if it had been said already."""
        self._said.set()


KEPT = "strukt: compiling kernels, once for this environment (`strukt warm-up` compiles all of them ahead)"
LOST = (
    "strukt: compiling kernels, for this process only: no cache folder can be written; "
    "set NUMBA_CACHE_DIR to one that can"
)

NOTICE = Notice()
"""That of this process."""


def listen() -> None:
    """Have Numba tell the notice of this process when it compiles."""
    from numba.core import event

    event.Listener.register(Notice)  # as it is Numba's class, it cannot be a base where there is no Numba
    event.register("numba:compile", NOTICE)  # type: ignore[no-untyped-call]
