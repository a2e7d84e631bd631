"""A server in a thread that takes and gives models as the hub of Hugging Face does, as far as its client asks."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What the server holds and was asked for.

    Attributes:
        address: Of the server.
        files: What was pushed, by repository and path.
        private: Whether repositories are to be.
        requests: Methods and paths.
    """

    address: str
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


@contextmanager
def serving() -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            path = self.noted()
            if path == "/api/repos/create":
                asked = json.loads(body)
                name = f"{asked['organization']}/{asked['name']}"
                hub.files.setdefault(name, {})
                hub.private[name] = bool(asked.get("private")) or asked.get("visibility") == "private"
                self.answer({"url": f"{hub.address}/{name}"})
            elif path == "/api/validate-yaml":
                self.answer({"errors": [], "warnings": []})
            elif "/preupload/" in path:
                asked = json.loads(body)["files"]
                self.answer(
                    {
                        "files": [
                            {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in asked
                        ]
                    }
                )
            elif "/commit/" in path:
                lines = [json.loads(line) for line in body.splitlines()]
                name = "/".join(path.split("/")[3:5])
                for line in lines[1:]:
                    assert line["key"] == "file"
                    hub.files[name][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                self.answer({"commitUrl": f"{hub.address}/{name}/commit/{COMMIT}", "commitOid": COMMIT})
            else:
                self.missing()

        def do_GET(self) -> None:
            path = self.noted()
            parts = path.strip("/").split("/")
            if parts[:2] == ["api", "models"] and "/".join(parts[2:4]) in hub.files:
                held = hub.files["/".join(parts[2:4])]
                if parts[4:5] == ["tree"]:
                    self.answer([entry(name, content) for name, content in held.items()])
                else:
                    siblings = [{"rfilename": name} for name in held]
                    self.answer({"id": "/".join(parts[2:4]), "sha": COMMIT, "siblings": siblings})
            elif parts[2:3] == ["resolve"] and "/".join(parts[:2]) in hub.files:
                content = hub.files["/".join(parts[:2])].get("/".join(parts[4:]))
                self.missing() if content is None else self.give(content)
            else:
                self.missing()

        do_HEAD = do_GET  # noqa: N815

        def noted(self) -> str:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append(f"{self.command} {path}")
            return path

        def answer(self, value: object) -> None:
            self.give(json.dumps(value).encode())

        def give(self, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def missing(self) -> None:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub = Hub(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def entry(name: str, content: bytes) -> dict[str, object]:
    return {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
