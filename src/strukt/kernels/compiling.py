"""A notice on standard error while kernels compile, when they are first used."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

PATIENCE = 2.0
"""The seconds of compiling after which the notice is printed."""


class Notice:
    """A listener of Numba that prints a notice, once, if kernels take long to compile.

    Kernels loaded from the cache raise no events. Compilations are nested, never concurrent: Numba holds a lock.

    Args:
        patience: The seconds of compiling, over all kernels together, after which the notice is printed.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._left = patience
        self._depth = 0
        self._began = 0.0
        self._timer: threading.Timer | None = None
        self._said = threading.Event()

    def notify(self, event: Any) -> None:
        """Record the start or the end of a compilation, as Numba's listeners do."""
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
        """Start the timer of the notice; ``kept`` is True if the compiled code will be cached on disk."""
        self._began = time.monotonic()
        self._timer = threading.Timer(max(self._left, 0.0), self._say, (kept,))
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        """Stop the timer, and subtract the seconds since its start from the patience left."""
        if self._timer is not None:
            self._timer.cancel()
        self._left -= time.monotonic() - self._began

    def _say(self, kept: bool) -> None:
        """Print the notice; no other will follow."""
        self._said.set()
        if sys.stderr is not None:  # None in Windows programs without a console
            print(KEPT if kept else NOT_KEPT, file=sys.stderr, flush=True)

    def silence(self) -> None:
        """Print no notice from now on."""
        self._said.set()


KEPT = "strukt: compiling kernels, once for this environment (`strukt warm-up` compiles all of them ahead)"
NOT_KEPT = (
    "strukt: compiling kernels, for this process only: no cache folder can be written; "
    "set NUMBA_CACHE_DIR to one that can"
)

NOTICE = Notice()
"""The notice of this process."""


def listen() -> None:
    """Register the notice of this process with Numba."""
    from numba.core import event

    event.Listener.register(Notice)  # Numba's base class may be missing
    event.register("numba:compile", NOTICE)  # type: ignore[no-untyped-call]
