"""Middleware that guards the application: host names, limits of size and time, headers, unexpected errors."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from strukt.serve.limits import Limits
from strukt.serve.metrics import Metrics
from strukt.serve.refusals import problem

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every response, unless the response sets them itself."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Host names of the local machine."""

requests = logging.getLogger("strukt.serve.requests")
"""The log of all requests, at level INFO."""


class Guard:
    """Count and log requests, add `HEADERS` to responses, and answer unexpected errors with status 500.

    HEAD is answered as GET. An unexpected error after the response has begun is raised again, so that the server
    closes the connection.

    The log has the method of a request, its path (one of `paths`, or "other"), the status, the duration and the
    name of the model, but no other text of the client and no path that is not one of `paths`.

    Args:
        app: The guarded application.
        metrics: The counters of the service.
        paths: Paths that are counted separately.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self.app = app
        self.metrics = metrics
        self.paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in self.paths else "other"
        status: int | None = None
        start = time.perf_counter()
        state = scope.setdefault("state", {})
        # HEAD, which load balancers send, is answered as GET (RFC 9110, 9.3.2); the server drops the body.
        answered = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            with self.metrics.under_way():
                await self.app(answered, receive, send_on)
        except Exception:
            logging.getLogger(__name__).exception("%s failed", path)
            if status is not None:  # the response is partly sent: the server closes the connection
                raise
            await problem(500, "the request failed in the service; its log has the reason")(
                scope, receive, send_on
            )
        finally:
            seconds = time.perf_counter() - start
            self.metrics.count(path, status or 500, seconds)
            model = state.get("model", "-")
            requests.info("%s %s %d %.1f ms %s", scope["method"], path, status or 500, 1000 * seconds, model)


class Hosts:
    """Reject requests that are not addressed to a host name of the service, with status 421.

    Another site can point its own name at this machine, so that browsers take the service for a part of that site
    (DNS rebinding). The requests of these browsers are addressed to the name of the site.

    Args:
        app: The application that answers all other requests.
        names: The host names of the service, without ports.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self.app = app
        self.names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        host = Headers(scope=scope).get("host", "") if scope["type"] == "http" else None
        if host is None or re.sub(r":\d*$", "", host).lower() in self.names:
            await self.app(scope, receive, send)
            return
        message = f"this service does not answer for the host {host!r}; use {', '.join(sorted(self.names))}"
        await problem(421, message)(scope, receive, send)


class BodyLimit:
    """Read the body of a request before the application does, and reject requests beyond limits of size or time.

    The status is 413 for a body that is too large, and 408 for one that arrives too late.

    Args:
        app: The application that answers requests within the limits.
        limits: Limits on requests, of which `body`, `file` and `seconds` are used.
        files: Paths of requests that send a file.
    """

    def __init__(self, app: ASGIApp, limits: Limits, files: Collection[str]) -> None:
        self.app = app
        self.limits = limits
        self.files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = self.limits.file if scope["path"] in self.files else self.limits.body
        try:
            body = await asyncio.wait_for(_body(Headers(scope=scope), receive, most), self.limits.seconds)
        except (TimeoutError, asyncio.TimeoutError):
            await problem(408, f"the request took more than {self.limits.seconds:g} seconds to arrive")(
                scope, receive, send
            )
            return
        except ClientDisconnect:
            await problem(499, "the client has closed the connection")(scope, receive, send)
            return
        if body is None:
            await problem(413, f"the request is larger than {most} bytes; send less")(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_read() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, receive_read, send)


async def _body(headers: Headers, receive: Receive, most: int) -> bytes | None:
    """Return the body of a request; None if it has more than `most` bytes."""
    if int(headers.get("content-length", 0)) > most:
        return None
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            return None
    return bytes(body)
