"""Connections on which too little comes, and clients that do not wait for an answer."""

import json
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
from tests.serve import models
from tests.serve.asking import until
from tests.serve.models import TEXT
from tests.serve.server import ask, running

from strukt.serve.guard import HEADERS
from strukt.serve.limits import Limits

HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def impatient():
    with running({"tagger": models.tagger()}, Limits(seconds=1.0)) as address:
        yield address


def connected(address):
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def received(connection):
    """All until the other side closes."""
    return b"".join(iter(lambda: connection.recv(4096), b"")).decode()


@pytest.mark.parametrize("sent", [HEAD, b"GET /hea"])
def test_half_a_head_times_out_as_half_a_body_does(impatient, sent):
    with connected(impatient) as connection:
        connection.sendall(sent)
        answer = received(connection)
    head, body = answer.split("\r\n\r\n")
    assert head.startswith("HTTP/1.1 408 Request Timeout\r\n")
    assert json.loads(body) == {"error": "the head of the request took more than 1 seconds to arrive"}
    for name, value in HEADERS.items():
        assert f"\r\n{name}: {value}" in head


@pytest.mark.parametrize(("path", "status"), [("/", 200), ("/health", 200), ("/predict", 405), ("/no", 404)])
def test_head_is_get_without_the_body(impatient, path, status):
    answers = []
    for method in ("GET", "HEAD"):
        with connected(impatient) as connection:
            request = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            connection.sendall(request.encode())
            answers.append(received(connection).partition("\r\n\r\n"))
    (expected, _, content), (head, _, body) = answers
    assert head.startswith(f"HTTP/1.1 {status} ")
    length = f"content-length: {len(content.encode())}"
    assert length in expected
    assert length in head
    assert content
    assert body == ""


def test_bytes_now_and_then_do_not_make_it_longer(impatient):
    with connected(impatient) as connection:
        start = time.monotonic()
        connection.sendall(HEAD)
        for _ in range(100):
            time.sleep(0.1)
            try:
                connection.sendall(b"X: y\r\n")
            except OSError:
                break
        else:
            pytest.fail("it is still taken")
        assert time.monotonic() - start < 8


def test_a_connection_on_which_nothing_comes_is_closed(impatient):
    with connected(impatient) as connection:
        assert received(connection) == ""


def test_the_next_request_of_a_connection_has_its_own_time(impatient):
    with connected(impatient) as connection:
        for _ in range(3):
            time.sleep(0.5)
            connection.sendall(HEAD + b"\r\n")
            assert through(connection, b'{"status":"up"}').startswith(b"HTTP/1.1 200")
        connection.sendall(HEAD)
        assert received(connection).startswith("HTTP/1.1 408")


def test_a_request_that_takes_longer_than_its_head_may_is_answered(monkeypatch):
    """The time of the head ends when the head is there."""
    model = models.tagger()
    answer = model.distribution_of
    with running({"tagger": model}, Limits(seconds=1.0)) as address, connected(address) as connection:
        monkeypatch.setattr(model, "distribution_of", lambda batch: (time.sleep(0.7), answer(batch))[1])
        time.sleep(0.6)
        connection.sendall(question(TEXT))
        assert through(connection, b"}]}").startswith(b"HTTP/1.1 200")


def through(connection, end):
    """All through some bytes."""
    found = b""
    while end not in found:
        found += connection.recv(4096) or pytest.fail(f"only {found!r}")
    return found


def question(text):
    body = json.dumps({"texts": [text]})
    kind, length = "Content-Type: application/json", f"Content-Length: {len(body)}"
    return "\r\n".join(["POST /predict HTTP/1.1", "Host: localhost", kind, length, "", body]).encode()


def test_clients_that_hung_up_are_dropped_from_the_queue(monkeypatch):
    model, may_go_on, computed = models.tagger(), threading.Event(), []
    answer = model.distribution_of
    limits = Limits(threads=1, queue=3, seconds=30)
    with running({"tagger": model}, limits) as address:

        def wait(batch):
            computed.append(batch.sentences[0].forms)
            may_go_on.wait(20)
            return answer(batch)

        monkeypatch.setattr(model, "distribution_of", wait)
        first = threading.Thread(target=ask, args=(address,), kwargs={"texts": ["a cat"]})
        first.start()
        until(lambda: computed)
        leaving = [posted(address, "a dog") for _ in range(3)]
        until(lambda: "strukt_requests_in_flight 5" in metrics(address))  # with the one that asks
        for connection in leaving:
            connection.close()
        until(lambda: '{path="/predict",status="499"} 3' in metrics(address))
        last = threading.Thread(target=ask, args=(address,), kwargs={"texts": ["a fish"]})
        last.start()  # there is room for it
        may_go_on.set()
        first.join()
        last.join()
    assert computed == [["a", "cat"], ["a", "fish"]]


def posted(address, text):
    connection = connected(address)
    connection.sendall(question(text))
    return connection


def metrics(address):
    with connected(address) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return received(connection)
