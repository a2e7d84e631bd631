"""What the service answers over HTTP, and what it tells of itself."""

import asyncio
import logging
import re
import threading

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from tests.serve import models
from tests.serve.asking import ask, refused, until
from tests.serve.conftest import wait_until_ready
from tests.serve.models import TEXT

from strukt.kernels import dispatch
from strukt.serve.app import ASSETS, create_app
from strukt.serve.guard import HEADERS, Guard
from strukt.serve.limits import Limits
from strukt.serve.metrics import Metrics


def test_a_batch_of_texts(client):
    answer = ask(client, texts=[TEXT, "a dog eats every fish"]).json()
    assert answer["model"] == "parser"
    assert [each["words"] for each in answer["answers"]] == [TEXT.split(), "a dog eats every fish".split()]
    single = [ask(client, texts=[text]).json()["answers"][0] for text in (TEXT, "a dog eats every fish")]
    assert answer["answers"] == single


def test_a_condition_over_http(client):
    arc = {"word": 3, "head": 1}
    (answer,) = ask(client, required=[arc]).json()["answers"]
    found = {each["part"]["word"]: each["part"]["head"] for each in answer["structures"][0]["parts"]}
    assert found[3] == 1
    (other,) = ask(client, forbidden=[arc, {"word": 3, "head": 4}]).json()["answers"]
    assert {"word": 3, "head": 4} not in [each["part"] for each in other["structures"][0]["parts"]]


def test_models_tell_what_they_can_show(client):
    cards = {card["name"]: card for card in client.get("/models").json()}
    assert {name: [*card["parts"]] for name, card in cards.items()} == {
        "parser": ["arc"],
        "tagger": ["tag"],
        "constituency": ["span"],
        "ner": ["span"],
        "pipeline": ["tag", "arc", "span"],
    }
    assert cards["parser"]["parts"]["arc"] == [*models.parser().vocabularies["labels"].symbols]
    assert cards["ner"]["parts"]["span"] == ["LOC", "LOC\tORG", "PER"]
    for card in cards.values():
        for view in card["views"]:
            assert ask(client, model=card["name"], view=view).status_code == 200


def test_a_service_needs_a_model():
    with pytest.raises(ValueError, match=r"^models is empty; expected one or more models by name"):
        create_app({})


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        *(({name: 0}, f"{name} is 0; expected 1 or more") for name in ("words", "body", "file", "threads")),
        ({"queue": -1}, "queue is -1; expected 0 or more"),
        *(
            ({"seconds": seconds}, f"seconds is {seconds}; expected a finite number above 0")
            for seconds in (0, np.inf, np.nan)
        ),
    ],
)
def test_limits_that_would_refuse_every_request_are_refused(limits, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Limits(**limits)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        *(("GET", asset, 200) for asset in ASSETS if asset != "/"),
        ("GET", "/models", 200),
        ("GET", "/health", 200),
        ("GET", "/ready", 200),
        ("GET", "/metrics", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/docs", 404),
        ("GET", "/../pyproject.toml", 404),
        ("GET", "/%2e%2e/app.py", 404),
        ("GET", "/predict", 405),
        ("POST", "/predict", 422),
        ("DELETE", "/models", 405),
    ],
)
def test_every_answer_has_the_headers(client, method, path, status):
    response = client.request(method, path)
    assert response.status_code == status
    kept = {"Cache-Control": "max-age=300"} if method == "GET" and path in ASSETS else {}
    for name, value in {**HEADERS, **kept}.items():
        assert response.headers[name] == value
    assert status < 400 or response.json().keys() == {"error"}


def test_the_policy_allows_nothing_from_elsewhere_and_nothing_inline():
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert set(re.findall(r"'(\w+)'", policy)) == {"none", "self"}


def test_the_page_asks_nobody_else(client):
    page = client.get("/").text
    assert not re.search(r"https?:|//\w|<style|style=|\son\w+=|<script>", page)
    for reference in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert client.get(f"/{reference}").status_code == 200
    for asset in ASSETS:
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", client.get(asset).text)


def test_every_field_of_the_page_has_a_name_that_no_screen_hides(client):
    """A narrow screen hides the text in the label of a menu, and the name of the menu with it."""
    for field in re.findall(r"<(?:select|textarea)[^>]*>", client.get("/").text):
        assert "aria-label=" in field, field


def test_texts_are_escaped_in_pictures(client):
    text = "<script>alert(1)</script> sees \"a\" & 'b' <img src=x onerror=y>"
    for view in ("mode", "marginals", "kbest"):
        for name in models.several():
            if name == "pipeline" and view == "kbest":
                continue
            answer = ask(client, texts=[text], model=name, view=view, pictures=True).json()
            for structure in answer["answers"][0]["structures"]:
                assert structure["pictures"]
                for picture in structure["pictures"]:
                    assert not re.search(r"<(?!/?(svg|g|path|rect|text|tspan|title|desc)\b)", picture)


def test_the_documentation_tells_of_every_refusal(client):
    description = client.get("/openapi.json").json()
    answers = description["paths"]["/predict"]["post"]["responses"]
    assert answers.keys() == {"200", "413", "422", "503", "504"}
    for status, answer in answers.items():
        name = "PredictResponse" if status == "200" else "Problem"
        assert answer["content"]["application/json"]["schema"]["$ref"].endswith(f"/{name}")
    parameters = description["components"]["schemas"]["PredictRequest"]["properties"]
    assert {"texts", "model", "view", "temperature", "k", "seed", "required", "forbidden"} <= parameters.keys()


def test_metrics_count_what_was_answered():
    with TestClient(create_app({'a "b"': models.tagger()})) as client:
        wait_until_ready(client)
        for _ in range(3):
            client.post("/predict", json={"texts": [TEXT]})
        client.post("/predict", json={"texts": []})
        client.get("/nowhere")
        client.get("/else")
        answer = client.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'strukt_requests_total{path="/predict",status="200"} 3' in lines
    assert 'strukt_requests_total{path="/predict",status="422"} 1' in lines
    assert 'strukt_requests_total{path="other",status="404"} 2' in lines
    assert 'strukt_request_seconds_count{path="/predict"} 4' in lines
    assert 'strukt_request_seconds_bucket{path="/predict",le="+Inf"} 4' in lines
    assert "strukt_requests_in_flight 1" in lines  # this one
    assert 'strukt_model_info{name="a \\"b\\"",task="tag"} 1' in lines


class Slow:
    """Makes a tagger wait until it may go on."""

    def __init__(self, monkeypatch):
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.model = models.tagger()
        answer = self.model.distribution_of

        def wait(batch):
            self.may_go_on.wait(20)
            return answer(batch)

        monkeypatch.setattr(self.model, "distribution_of", wait)


def test_requests_beyond_the_queue_are_refused_and_those_in_it_answered(monkeypatch):
    slow = Slow(monkeypatch)
    limits = Limits(threads=1, queue=2, seconds=20)
    with TestClient(create_app({"tagger": slow.model}, limits)) as client:
        wait_until_ready(client)
        slow.may_go_on.clear()
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(client.post("/predict", json={"texts": [TEXT]})))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        _wait_for_line(client, "strukt_requests_in_flight 4")  # those three, and that which asks
        refusal = client.post("/predict", json={"texts": [TEXT]})
        assert refused(refusal, 503, "too many requests are waiting")
        assert refusal.headers["Retry-After"] == "1"
        assert client.get("/health").status_code == client.get("/").status_code == 200
        slow.may_go_on.set()
        for thread in threads:
            thread.join()
        assert [answer.status_code for answer in answers] == [200] * 3
        assert client.post("/predict", json={"texts": [TEXT]}).status_code == 200


def _wait_for_line(client, line):
    until(lambda: line in client.get("/metrics").text.splitlines())


def test_a_request_that_takes_too_long_is_given_up(monkeypatch):
    slow = Slow(monkeypatch)
    limits = Limits(threads=1, queue=1, seconds=0.2)
    with TestClient(create_app({"tagger": slow.model}, limits)) as client:
        wait_until_ready(client)
        slow.may_go_on.clear()
        late = client.post("/predict", json={"texts": [TEXT]})
        assert refused(late, 504, "no answer within 0.2 seconds: give less text, or a smaller k")
        _wait_for_line(client, "strukt_late_threads 1")
        assert refused(client.get("/ready"), 503, "all threads are busy with abandoned requests")
        waited = client.post("/predict", json={"texts": [TEXT]})
        assert refused(waited, 504, "no answer within 0.2 seconds: the queue was too long; try again later")
        slow.may_go_on.set()
        until(lambda: client.post("/predict", json={"texts": [TEXT]}).status_code == 200)
        _wait_for_line(client, "strukt_late_threads 0")
        assert client.get("/ready").status_code == 200


def test_before_kernels_are_compiled_the_reference_answers(monkeypatch):
    """The thread that warms up waits; nothing else does, and what answers changes when it has ended."""
    model, may_go_on, backends = models.tagger(), threading.Event(), []
    answer = model.distribution_of

    def noted(batch):
        if threading.current_thread().name.startswith("strukt-serve"):
            backends.append(dispatch.select("strukt.structures.linear_chain", torch.zeros(1)))
        else:
            may_go_on.wait(20)
        return answer(batch)

    monkeypatch.setattr(model, "distribution_of", noted)
    with TestClient(create_app({"tagger": model})) as client:
        assert client.get("/health").json() == {"status": "up"}
        first = client.post("/predict", json={"texts": [TEXT]})
        assert first.status_code == 200
        waiting = client.get("/ready")
        assert refused(waiting, 503, "kernels are being compiled; answers are slower until then")
        assert waiting.headers["Retry-After"] == "1"
        may_go_on.set()
        wait_until_ready(client)
        assert client.post("/predict", json={"texts": [TEXT]}).json() == first.json()
    assert backends == [None, dispatch.select("strukt.structures.linear_chain", torch.zeros(1))]


def test_an_answer_that_takes_too_long_while_kernels_are_compiled_may_be_asked_for_again(monkeypatch):
    slow = Slow(monkeypatch)
    slow.may_go_on.clear()
    with TestClient(create_app({"tagger": slow.model}, Limits(seconds=0.2))) as client:
        answer = client.post("/predict", json={"texts": [TEXT]})
        assert refused(answer, 503, "no answer within 0.2 seconds.*; kernels are being compiled")
        slow.may_go_on.set()


def test_a_fault_inside_is_logged_and_not_told(monkeypatch, caplog):
    model = models.tagger()
    with TestClient(create_app({"tagger": model})) as client:
        wait_until_ready(client)
        monkeypatch.setattr(model, "distribution_of", lambda batch: 1 / 0)
        with caplog.at_level(logging.ERROR):
            answer = client.post("/predict", json={"texts": [TEXT]})
    assert refused(answer, 500, "^the request failed in the service; its log has the reason$")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "ZeroDivisionError" in caplog.text
    assert TEXT not in caplog.text


def test_a_request_that_fails_after_its_answer_has_begun_is_counted_and_logged(caplog):
    async def begin_and_fail(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ZeroDivisionError

    async def send(message):
        pass

    metrics = Metrics()
    guard = Guard(begin_and_fail, metrics, ["/predict"])
    scope = {"type": "http", "method": "POST", "path": "/predict"}
    with caplog.at_level(logging.INFO), pytest.raises(ZeroDivisionError):
        asyncio.run(guard(scope, None, send))
    assert metrics.in_flight == 0
    assert "POST /predict 200" in caplog.text
    assert 'path="/predict",status="200"} 1' in metrics.text([], 0)


def test_requests_are_noted_without_what_clients_write(client, caplog):
    with caplog.at_level(logging.INFO, "strukt.serve.requests"):
        ask(client)
        ask(client, model="secret")
        client.post("/predict?secret", content=b"secret")
        client.get("/secret")
        client.get("/health")
    lines = [record.getMessage() for record in caplog.records if record.name == "strukt.serve.requests"]
    expected = [
        "POST /predict 200 parser",
        *["POST /predict 422 -"] * 2,
        "GET other 404 -",
        "GET /health 200 -",
    ]
    assert [re.sub(r"[\d.]+ ms ", "", line) for line in lines] == expected
    assert all(re.search(r" \d+\.\d ms ", line) for line in lines)


def test_a_view_that_fails_at_the_start_is_logged(monkeypatch, caplog):
    model = models.tagger()
    monkeypatch.setattr(model, "distribution_of", lambda batch: 1 / 0)
    with TestClient(create_app({"tagger": model})) as client:
        wait_until_ready(client)
    assert "the view mode of the model tagger failed" in caplog.text
