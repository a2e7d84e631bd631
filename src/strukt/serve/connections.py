"""Time limit for the heads of requests; `guard.BodyLimit` limits the time for their bodies."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from strukt.serve.guard import HEADERS
from strukt.serve.refusals import problem


def protocol(seconds: float) -> type[asyncio.Protocol]:
    """Return a server protocol that closes a connection if the head of a request does not arrive in time.

    If a part of the head has arrived, the connection gets a response with status 408 first. Uvicorn itself waits
    forever for the rest of a head, and for the first byte of a new connection.

    Args:
        seconds: Time limit for a head, in seconds.
    """
    return cast("type[asyncio.Protocol]", type("Timed", (_Timed,), {"seconds": seconds}))


class _Timed(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Uvicorn's protocol with a timer for the head of each request; `protocol` makes a subclass with a time limit.

    The timer starts when the connection opens, and at the first byte of each later head.
    """

    seconds: float

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._has_begun = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:  # the head has arrived
            self._stop()
            return
        self._has_begun = True
        if self._timer is None:
            self._wait()

    def connection_lost(self, error: Exception | None) -> None:
        self._stop()
        super().connection_lost(error)

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._close_late)

    def _stop(self) -> None:
        """Stop the timer, because the head of a request has arrived or the connection is closed."""
        self._has_begun = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_late(self) -> None:
        """Close the connection because the head of a request has not arrived in time."""
        if self._has_begun and not self.transport.is_closing():
            self.transport.write(_refusal(self.seconds))
        self.transport.close()


def _refusal(seconds: float) -> bytes:
    """Return a response with status 408 as the bytes to send."""
    answer = problem(408, f"the head of the request took more than {seconds:g} seconds to arrive")
    headers = {**HEADERS, **dict(answer.headers), "Connection": "close"}
    lines = ["HTTP/1.1 408 Request Timeout", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + bytes(answer.body)
