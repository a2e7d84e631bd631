"""What the service answers over HTTP: predictions, and refusals in one line."""

import json
import logging
import re
import threading
import time

import pytest
from fastapi.testclient import TestClient
from tests.serve import models
from tests.serve.conftest import wait_until_ready
from tests.serve.models import TEXT

from strukt.serve.app import ASSETS, create_app
from strukt.serve.guard import HEADERS
from strukt.serve.limits import Limits


def ask(client, **question):
    return client.post("/predict", json={"texts": [TEXT], "model": "parser", **question})


def refused(response, status, message):
    assert response.status_code == status
    assert response.json().keys() == {"error"}
    assert re.search(message, response.json()["error"])
    return True


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
    assert {name: card["part"] for name, card in cards.items()} == {
        "parser": "arc",
        "tagger": "tag",
        "constituency": "span",
        "ner": "span",
    }
    for card in cards.values():
        for view in card["views"]:
            assert ask(client, model=card["name"], view=view).status_code == 200


def test_the_only_model_needs_no_name():
    with TestClient(create_app({"tagger": models.tagger()})) as client:
        wait_until_ready(client)
        assert client.post("/predict", json={"texts": [TEXT]}).json()["model"] == "tagger"


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"model": "other"}, "model: there is no 'other'; known are parser, tagger, constituency, ner"),
        ({"model": None}, "model: there are several; name one of parser"),
        ({"texts": []}, "texts: List should have at least 1 item"),
        ({"texts": ["a"] * 65}, "texts: List should have at most 64 items"),
        ({"texts": "a"}, "texts: Input should be a valid list"),
        ({"texts": [""]}, "the text has no words"),
        ({"texts": [" \n\t\u2028"]}, "the text has no words"),
        ({"texts": ["a \x00 b"]}, r"character 3 is U\+0000, which is no text"),
        ({"texts": ["a \x1b[31m"]}, r"character 3 is U\+001B"),
        ({"texts": ["a " * 151]}, "the text has 151 words; this service reads up to 150"),
        ({"temperature": 0}, "temperature: Input should be greater than or equal to 0.01"),
        ({"temperature": "1"}, "temperature: Input should be a valid number"),
        ({"temperature": True}, "temperature: Input should be a valid number"),
        ({"k": 0}, "k: Input should be greater than or equal to 1"),
        ({"k": 1.5}, "k: Input should be a valid integer"),
        ({"k": 51}, "k: Input should be less than or equal to 50"),
        ({"seed": -1}, "seed: Input should be greater than or equal to 0"),
        ({"view": "best"}, "view: Input should be 'mode', 'marginals', 'samples', 'kbest' or 'sparsemap'"),
        ({"more": 1}, "more: Extra inputs are not permitted"),
        ({"required": [{"word": 1}]}, r"required\.0: a part has word and tag, word and head, or start, end"),
        ({"required": [{"head": 1}]}, r"required\.0\.arc\.word: Field required"),
        ({"required": [3]}, r"required\.0: a part has"),
        ({"required": [{"word": 0, "head": 1}]}, "greater than or equal to 1"),
        ({"required": [{"word": 1, "head": 10**30}]}, "the text has no such words"),
        ({"required": [{"word": 1, "head": 2}], "texts": ["a b", "c d"]}, "those of a single text"),
        ({"required": [{"word": 1, "head": 2}, {"word": 1, "head": 3}]}, "no structure has all required"),
        ({"required": [{"word": 1, "tag": "NN"}]}, "this model lets parts"),
    ],
)
def test_questions_without_an_answer_are_told_why(client, question, message):
    assert refused(ask(client, **question), 422, message)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"[" * 60_000,
        b"9" * 60_000,
        b'{"texts": ["\\ud800"], "model": "parser"}',
        b'{"\\ud800": 1}',
        b'{"texts": ["a"], "model": "\\udfff"}',
        b'{"texts": ["a"], "model": "parser", "temperature": NaN}',
        b'{"texts": ["a"], "model": "parser", "temperature": 1e999}',
        b'{"texts": ["a"], "model": "parser", "k": -Infinity}',
        b'{"texts": [NaN], "model": "parser"}',
    ],
)
def test_odd_json_is_refused_in_one_line(client, body):
    response = client.post("/predict", content=body, headers={"Content-Type": "application/json"})
    assert refused(response, 422, ".")
    assert len(response.content) < 600


def test_a_body_that_is_not_declared_as_json_is_refused(client):
    body = json.dumps({"texts": [TEXT], "model": "parser"})
    assert refused(client.post("/predict", content=body, headers={"Content-Type": "text/plain"}), 422, ".")


def test_the_length_of_a_body_has_a_limit(client):
    room = Limits().body
    at_limit = json.dumps({"texts": [TEXT], "model": "parser"}).encode().ljust(room)
    json_type = {"Content-Type": "application/json"}
    assert client.post("/predict", content=at_limit, headers=json_type).status_code == 200
    assert refused(
        client.post("/predict", content=at_limit + b" ", headers=json_type), 413, "larger than 65536"
    )


def test_so_has_one_that_does_not_tell_its_length(client):
    pieces = (b" " * 1000 for _ in range(70))
    assert refused(client.post("/predict", content=pieces), 413, "larger than 65536")


def test_bodies_of_other_requests_are_limited_too(client):
    assert client.request("GET", "/health", content=b" " * 70_000).status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/page.js", 200),
        ("GET", "/drawing.js", 200),
        ("GET", "/state.js", 200),
        ("GET", "/page.css", 200),
        ("GET", "/icon.svg", 200),
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


def test_texts_are_escaped_in_pictures(client):
    text = "<script>alert(1)</script> sees \"a\" & 'b' <img src=x onerror=y>"
    for view in ("mode", "marginals", "kbest"):
        for name in ("parser", "tagger", "constituency", "ner"):
            answer = ask(client, texts=[text], model=name, view=view, pictures=True).json()
            for structure in answer["answers"][0]["structures"]:
                assert not re.search(r"<(?!/?(svg|g|path|rect|text|tspan)\b)", structure["picture"])


def test_the_documentation_tells_of_every_refusal(client):
    description = client.get("/openapi.json").json()
    answers = description["paths"]["/predict"]["post"]["responses"]
    assert answers.keys() == {"200", "413", "422", "503", "504"}
    for status, answer in answers.items():
        name = "Answers" if status == "200" else "Problem"
        assert answer["content"]["application/json"]["schema"]["$ref"].endswith(f"/{name}")
    parameters = description["components"]["schemas"]["Question"]["properties"]
    assert {
        "texts",
        "model",
        "view",
        "temperature",
        "k",
        "seed",
        "required",
        "forbidden",
    } <= parameters.keys()


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
        assert refused(refusal, 503, "too many requests wait")
        assert refusal.headers["Retry-After"] == "1"
        assert client.get("/health").status_code == client.get("/").status_code == 200
        slow.may_go_on.set()
        for thread in threads:
            thread.join()
        assert [answer.status_code for answer in answers] == [200] * 3
        assert client.post("/predict", json={"texts": [TEXT]}).status_code == 200


def _wait_for_line(client, line):
    end = time.monotonic() + 20
    while line not in client.get("/metrics").text.splitlines():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_request_that_takes_too_long_is_given_up(monkeypatch):
    slow = Slow(monkeypatch)
    limits = Limits(threads=1, queue=1, seconds=0.2)
    with TestClient(create_app({"tagger": slow.model}, limits)) as client:
        wait_until_ready(client)
        slow.may_go_on.clear()
        assert refused(client.post("/predict", json={"texts": [TEXT]}), 504, "no answer within 0.2 seconds")
        assert refused(client.post("/predict", json={"texts": [TEXT]}), 504, "no answer")  # while it waited
        slow.may_go_on.set()
        _wait_until(lambda: client.post("/predict", json={"texts": [TEXT]}).status_code == 200)


def _wait_until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_before_the_models_are_ready_there_are_no_predictions(monkeypatch):
    slow = Slow(monkeypatch)
    slow.may_go_on.clear()
    with TestClient(create_app({"tagger": slow.model})) as client:
        assert client.get("/health").json() == {"status": "up"}
        for answer in (client.get("/ready"), client.post("/predict", json={"texts": [TEXT]})):
            assert refused(answer, 503, "not ready yet")
            assert answer.headers["Retry-After"] == "1"
        slow.may_go_on.set()
        wait_until_ready(client)
        assert client.post("/predict", json={"texts": [TEXT]}).status_code == 200


def test_a_fault_inside_is_logged_and_not_told(monkeypatch, caplog):
    model = models.tagger()
    with TestClient(create_app({"tagger": model})) as client:
        wait_until_ready(client)
        monkeypatch.setattr(model, "distribution_of", lambda batch: 1 / 0)
        with caplog.at_level(logging.ERROR):
            answer = client.post("/predict", json={"texts": [TEXT]})
    assert refused(answer, 500, "^the service has failed at this; its log says why$")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "ZeroDivisionError" in caplog.text
    assert TEXT not in caplog.text


def test_a_view_that_fails_at_the_start_is_logged(monkeypatch, caplog):
    model = models.tagger()
    monkeypatch.setattr(model, "distribution_of", lambda batch: 1 / 0)
    with TestClient(create_app({"tagger": model})) as client:
        wait_until_ready(client)
    assert "the view mode of the model tagger failed" in caplog.text
