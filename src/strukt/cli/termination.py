"""Orderly end of commands after SIGTERM, the signal of schedulers, `docker stop` and `kill`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from strukt.errors import TERMINATED


class Terminated(SystemExit):
    """SIGTERM has ended the command.

    Args:
        message: The line that is printed before the command ends.
    """

    def __init__(self, message: str = "stopped by SIGTERM") -> None:
        super().__init__(TERMINATED)
        self.message = message


@contextmanager
def orderly() -> Iterator[None]:
    """Raise `Terminated` when SIGTERM arrives within the context, so that files are cleaned up.

    Outside the main thread, or if SIGTERM is ignored or has a handler already, this does nothing.
    """
    in_charge = threading.current_thread() is threading.main_thread()
    if not in_charge or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(*_: Any) -> None:
    # A scheduler may signal both the process and its group; the second signal must not interrupt the cleanup.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated
