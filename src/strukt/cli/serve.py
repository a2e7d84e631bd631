"""`strukt serve`: serve models on a web page, and to programs as JSON."""

from __future__ import annotations

import gc
import ipaddress
import logging
import math
import os
import socket
from pathlib import Path

from strukt.cli import console
from strukt.cli.options import Parser, require_least
from strukt.cli.termination import Terminated
from strukt.errors import MissingExtraError
from strukt.viz.canvas.width import printable

LARGEST_PORT = 65535

MEGABYTE = 1024 * 1024


def run(arguments: list[str]) -> int:
    """Serve until interrupted; after SIGTERM, answer running requests before the end."""
    options = _parser().parse(arguments)
    names = _names(options.model)
    require_least(options, threads=1, queue=0, words=1)
    for name in ("seconds", "megabytes"):
        if not 0 < getattr(options, name) < math.inf:
            raise console.UsageError(
                f"--{name} is {getattr(options, name)}; expected a number above 0, and finite"
            )
    try:
        import uvicorn

        from strukt.serve import guard
        from strukt.serve.app import create_app
        from strukt.serve.connections import protocol
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "serve") from None

    import torch

    from strukt.serve.limits import Limits
    from strukt.train import saved_model

    torch.set_num_threads(1)  # each thread of the service uses one core
    models = {name: saved_model.load(folder) for name, folder in names.items()}
    limits = Limits(
        words=options.words,
        file=int(options.megabytes * MEGABYTE),
        threads=options.threads,
        queue=options.queue,
        seconds=options.seconds,
    )
    with _listening(options.host, options.port) as address:
        name, port = address.getsockname()[:2]
        host = f"[{name}]" if ":" in name else name
        hosts = {*guard.LOOPBACK, host} if _is_loopback(options.host) else None
        if hosts is None:
            console.warning(
                f"{options.host} is open to other machines, without encryption or passwords; put a proxy in front "
                "that adds them, or omit --host"
            )
        console.message(f"serving {', '.join(names)} at http://{host}:{port}")
        _log_to_standard_error(guard.requests)
        app = create_app(models, limits, _freeze_garbage_collection, hosts)
        config = uvicorn.Config(
            app, http=protocol(limits.seconds), ws="none", log_level="warning", access_log=False,
            server_header=False,
        )  # fmt: skip
        try:
            uvicorn.Server(config).run(sockets=[address])
        except Terminated as end:  # the usual end of a service, not a failure
            console.message(end.message)
    return 0


def _log_to_standard_error(requests: logging.Logger) -> None:
    """Let a logger write a line for each request to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    requests.addHandler(handler)
    requests.setLevel(logging.INFO)


def _freeze_garbage_collection() -> None:
    """Exempt all present objects from garbage collection, so that later collections are short."""
    gc.collect()
    gc.freeze()


def _names(folders: list[str]) -> dict[str, str]:
    """Return the folders of models by name: the name is the last part of the path, even if that is a link."""
    names: dict[str, str] = {}
    for folder in folders:
        name = printable(Path(os.path.abspath(folder)).name)
        if name in names:
            raise console.UsageError(
                f"{names[name]} and {folder} are both named {name}; give folders with different names"
            )
        names[name] = folder
    return names


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a host and a port; raise `UsageError` if that is not possible."""
    if not 0 <= port <= LARGEST_PORT:
        raise console.UsageError(f"--port is {port}; expected 0 to {LARGEST_PORT}, where 0 is any free port")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        host.encode("idna")  # otherwise, `create_server` raises TypeError and leaves a socket open
        listener = socket.create_server((host, port), family=family, backlog=256)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is not a host name"
        raise console.UsageError(
            f"cannot listen on {host}, port {port}: {reason}; choose another --host or --port"
        ) from None
    # Connections inherit this option; without it, the body of an answer is delayed by 40 ms (Nagle's algorithm).
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _parser() -> Parser:
    parser = Parser("serve", "Serve models: a web page to try them, and JSON for programs.")
    parser.add_argument("model", metavar="MODEL", nargs="+", help="folders of saved models")
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this machine only)"
    )
    parser.add_argument("--port", type=int, default=8000, help="port; 0 is any free port (8000)")
    parser.add_argument(
        "--threads", type=int, default=2, help="number of requests computed at the same time (2)"
    )
    parser.add_argument("--queue", type=int, default=32, help="number of requests that may wait (32)")
    parser.add_argument("--words", type=int, default=150, help="maximum number of words of a sentence (150)")
    parser.add_argument("--megabytes", type=float, default=8.0, help="maximum size of a file (8)")
    parser.add_argument("--seconds", type=float, default=10.0, help="maximum duration of a request (10)")
    return parser
