"""A service on a port of its own, as `strukt serve` runs it, in a thread of the test."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import uvicorn
from tests.serve.asking import until

from strukt.serve.app import create_app
from strukt.serve.connections import protocol
from strukt.serve.limits import Limits


@contextmanager
def running(models: Mapping, limits: Limits | None = None) -> Iterator[str]:
    """Its address, as soon as it is ready."""
    listening = socket.create_server(("127.0.0.1", 0))
    app, limits = create_app(models, limits), limits or Limits()
    server = uvicorn.Server(uvicorn.Config(app, http=protocol(limits.seconds), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        wait_until_ready(address)
        yield address
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def wait_until_ready(address: str, path: str = "/ready") -> None:
    def answers() -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(address + path):  # refused, or 503
            return True
        return False

    until(answers, seconds=120)


def ask(address: str, **question) -> dict:
    """The answers to a question."""
    request = urllib.request.Request(
        f"{address}/predict", json.dumps(question).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)
