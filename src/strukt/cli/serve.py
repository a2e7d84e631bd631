"""`strukt serve`: a page on which models can be tried, and the same as a service for programs."""

from __future__ import annotations

import gc
import ipaddress
import logging
import socket
from pathlib import Path

from strukt.cli import console
from strukt.cli.options import Parser
from strukt.errors import MissingExtraError
from strukt.viz.canvas.width import printable

LARGEST_PORT = 65535


def run(arguments: list[str]) -> int:
    """Serves until it is interrupted."""
    options = _parser().parse(arguments)
    names = _names(options.model)
    for name, least in (("threads", 1), ("queue", 0), ("words", 1)):
        if getattr(options, name) < least:
            raise console.UsageError(f"--{name} is {getattr(options, name)}; expected {least} or more")
    if not options.seconds > 0:
        raise console.UsageError(f"--seconds is {options.seconds}; expected more than 0")
    try:
        import uvicorn

        from strukt.serve import guard
        from strukt.serve.app import create_app
        from strukt.serve.connections import protocol
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "serve") from None

    import torch

    from strukt.serve.limits import Limits
    from strukt.train import bundle

    torch.set_num_threads(1)  # each thread of the service takes a core
    models = {name: bundle.load(folder) for name, folder in names.items()}
    limits = Limits(
        words=options.words, threads=options.threads, queue=options.queue, seconds=options.seconds
    )
    with _listening(options.host, options.port) as address:
        name, port = address.getsockname()[:2]
        host = f"[{name}]" if ":" in name else name
        hosts = {*guard.LOOPBACK, host} if _is_loopback(options.host) else None
        if hosts is None:
            console.warning(
                f"{options.host} is open to other machines, without encryption or passwords; put a proxy that has "
                "them before it, or leave --host out"
            )
        console.message(f"serving {', '.join(names)} at http://{host}:{port}")
        _note(guard.requests)
        app = create_app(models, limits, _settle, hosts)
        config = uvicorn.Config(
            app, http=protocol(limits.seconds), ws="none", log_level="warning", access_log=False,
            server_header=False,
        )  # fmt: skip
        uvicorn.Server(config).run(sockets=[address])
    return 0


def _note(requests: logging.Logger) -> None:
    """Writes a line for each request to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    requests.addHandler(handler)
    requests.setLevel(logging.INFO)


def _settle() -> None:
    """What is there when all is ready stays: without looking at it, collecting garbage never takes long."""
    gc.collect()
    gc.freeze()


def _names(folders: list[str]) -> dict[str, str]:
    """Each model under the last part of its path."""
    names: dict[str, str] = {}
    for folder in folders:
        name = printable(Path(folder).resolve().name)
        if name in names:
            raise console.UsageError(
                f"{names[name]} and {folder} are both called {name}; give folders of different names"
            )
        names[name] = folder
    return names


def _listening(host: str, port: int) -> socket.socket:
    if not 0 <= port <= LARGEST_PORT:
        raise console.UsageError(f"--port is {port}; expected 0 to {LARGEST_PORT}, where 0 is any free one")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise console.UsageError(
            f"cannot listen at {host}, port {port}: {error.strerror}; choose another --host or --port"
        ) from None
    # Connections inherit it. Without it the body of an answer, sent after its head, waits 40 ms for nothing.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _parser() -> Parser:
    parser = Parser("serve", "Serves models: a page to try them, and JSON for programs.")
    parser.add_argument("model", metavar="MODEL", nargs="+", help="folders of saved models")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1: this machine alone)")
    parser.add_argument("--port", type=int, default=8000, help="0 is any free one (8000)")
    parser.add_argument("--threads", type=int, default=2, help="requests that are computed at a time (2)")
    parser.add_argument("--queue", type=int, default=32, help="requests that may wait (32)")
    parser.add_argument("--words", type=int, default=150, help="the most words of a sentence (150)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long a request may take (10)")
    return parser
