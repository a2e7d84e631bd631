"""What stands between the network and the application: size, time, headers, and no exception that gets out."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from strukt.serve.limits import Limits
from strukt.serve.metrics import Metrics
from strukt.viz.width import printable

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer, unless it brings its own."""

LONGEST = 400
"""Characters of a message."""


def problem(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """An answer that says in one line why there is no other.

    Args:
        status: The status.
        message: What is wrong; whatever characters a client has put into it, it can be sent.
        headers: Of this answer.
    """
    text = printable(" ".join(message.split()))
    return JSONResponse(
        {"error": text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."}, status, headers=headers
    )


class Guard:
    """Counts requests, adds the headers, and turns what goes wrong inside into a short answer.

    Args:
        app: What is guarded.
        metrics: Where is counted.
        paths: Those that are counted apart.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self.app = app
        self.metrics = metrics
        self.paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in self.paths else "other"
        status: int | None = None
        start = time.perf_counter()

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        with self.metrics.under_way():
            try:
                await self.app(scope, receive, send_on)
            except Exception:
                logging.getLogger(__name__).exception("%s failed", path)
                if status is not None:  # it is half sent: the server breaks the connection off
                    raise
                await problem(500, "the service has failed at this; its log says why")(
                    scope, receive, send_on
                )
        self.metrics.count(path, status or 500, time.perf_counter() - start)


class BodyLimit:
    """Reads the body of a request before anything else happens, as far as it may go on.

    Args:
        app: What gets the requests whose bodies are small enough and here in time.
        limits: The limits.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app = app
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(self._body(Headers(scope=scope), receive), self.limits.seconds)
        except (TimeoutError, asyncio.TimeoutError):
            await problem(408, f"the request took more than {self.limits.seconds:g} seconds to come")(
                scope, receive, send
            )
            return
        if body is None:
            await problem(413, f"the request is larger than {self.limits.body} bytes")(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_read() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, receive_read, send)

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """The body; None if it is too large."""
        if int(headers.get("content-length", 0)) > self.limits.body:
            return None
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.limits.body:
                return None
        return body
