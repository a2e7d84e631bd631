"""A web server in a thread, whose answers a test chooses one by one, well-behaved or not."""

from __future__ import annotations

import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Site:
    """What a server answers: for each path one answer after the other, the last one again and again."""

    address: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)  # paths, and ranges asked for

    def add(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        return self.address + path

    def ranges(self) -> list[str | None]:
        return [wanted for _, wanted in self.requests]


@contextmanager
def serving() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append((self.path, self.headers["Range"]))
            answers = site.answers.get(self.path, [status(404)])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            answer(self)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def headers(handler: BaseHTTPRequestHandler, code: int, **fields: object) -> None:
    handler.send_response(code)
    for name, value in fields.items():
        if value is not None:
            handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()


def status(code: int, **fields: object) -> Answer:
    """No content, but a status."""
    return lambda handler: headers(handler, code, Content_Length=0, **fields)


def whole(content: bytes, **fields: object) -> Answer:
    """A file, from a server that sends no parts."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        headers(handler, 200, Content_Length=len(content), **fields)
        handler.wfile.write(content)

    return answer


def parts(content: bytes, tag: str | None = '"1"', until: int | None = None) -> Answer:
    """A file, or the rest of it if the tag is the same; the connection breaks off where `until` is."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        found = re.fullmatch(r"bytes=(\d+)-", handler.headers["Range"] or "")
        start = int(found[1]) if found and handler.headers["If-Range"] in (None, tag) else 0
        if start >= len(content):
            headers(handler, 416, Content_Range=f"bytes */{len(content)}", Content_Length=0)
            return
        span = f"bytes {start}-{len(content) - 1}/{len(content)}" if start else None
        headers(
            handler, 206 if start else 200, Content_Length=len(content) - start, Content_Range=span, ETag=tag
        )
        handler.wfile.write(content[start:until])

    return answer


def pausing(content: bytes, until: int, seconds: float, **fields: object) -> Answer:
    """The beginning of a file, and then nothing for some time."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        headers(handler, 200, Content_Length=len(content), **fields)
        handler.wfile.write(content[:until])
        handler.wfile.flush()
        time.sleep(seconds)

    return answer


def announcing(size: int, content: bytes) -> Answer:
    """A file with another length than it has."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        headers(handler, 200, Content_Length=size)
        handler.wfile.write(content)

    return answer


def resetting(content: bytes, until: int) -> Answer:
    """The beginning of a file, and then the connection is not closed but torn down."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        headers(handler, 200, Content_Length=len(content), ETag='"1"')
        handler.wfile.write(content[:until])
        handler.wfile.flush()
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()

    return answer


def chunked(content: bytes, size: int = 1000, ends: bool = True) -> Answer:
    """A file of unannounced length, in chunks; without the last one if it does not end."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        headers(handler, 200, Transfer_Encoding="chunked", Connection="close")
        for start in range(0, len(content), size):
            chunk = content[start : start + size]
            handler.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        if ends:
            handler.wfile.write(b"0\r\n\r\n")

    return answer
