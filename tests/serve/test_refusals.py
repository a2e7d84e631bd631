"""What the service does not answer, it refuses in one line."""

import json

import pytest
from fastapi.testclient import TestClient
from tests.serve import models
from tests.serve.asking import ask, refused
from tests.serve.models import TEXT

from strukt.serve.app import create_app
from strukt.serve.guard import LOOPBACK
from strukt.serve.limits import Limits


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"model": "other"}, "model is 'other'; expected one of parser, tagger, constituency, ner"),
        ({"model": None}, "model is missing; expected one of parser"),
        ({"texts": []}, "texts: List should have at least 1 item"),
        ({"texts": ["a"] * 65}, "texts: List should have at most 64 items"),
        ({"texts": [" \n\t\u2028"]}, "the text has no words"),
        ({"texts": ["a \x00 b"]}, r"character 3 is U\+0000, which is not text"),
        ({"texts": ["a \x1b[31m"]}, r"character 3 is U\+001B"),
        ({"texts": ["a " * 151]}, "the text has 151 words; this service reads up to 150"),
        ({"temperature": 0}, "temperature: Input should be greater than or equal to 0.01; got 0"),
        ({"temperature": "1"}, "temperature: Input should be a valid number"),
        ({"temperature": True}, "temperature: Input should be a valid number"),
        ({"k": 0}, "k: Input should be greater than or equal to 1"),
        ({"k": 1.5}, "k: Input should be a valid integer"),
        ({"k": 51}, "k: Input should be less than or equal to 50"),
        ({"seed": -1}, "seed: Input should be greater than or equal to 0"),
        ({"view": "best"}, "view: Input should be 'mode', 'marginals', 'samples', 'kbest' or 'sparsemap'"),
        ({"more": "x" * 99}, 'more: Extra inputs are not permitted; got "x{59} '),
        ({"required": [{"word": 1}]}, r"required\.0: a part has word and tag, .* label; got {\"word\": 1}"),
        ({"required": [{"head": 1}]}, r"required\.0\.arc\.word: Field required"),
        ({"required": [3]}, r"required\.0: a part has"),
        ({"required": [{"word": 0, "head": 1}]}, "greater than or equal to 1"),
        ({"required": [{"word": 1, "head": 10**30}]}, "the text has no such words"),
        ({"required": [{"word": 1, "head": 2}], "texts": ["a b", "c d"]}, "need a single text"),
        ({"required": [{"word": 1, "head": 2}, {"word": 1, "head": 3}]}, "no structure has all required"),
        ({"forbidden": [{"word": 1, "head": 1}]}, "a word cannot be its own head"),
    ],
)
def test_questions_without_an_answer_are_told_why(client, question, message):
    assert refused(ask(client, **question), 422, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is empty"),
        (b'{"texts": }', "the body is not JSON at character 11: Expecting value"),
        (b"[" * 30_000 + b"]" * 30_000, "the body is nested too deeply"),
        (b"9" * 60_000, "the body has a number with too many digits"),
        (b'{"texts": ["\xff"]}', "the body is not UTF-8 at byte 13"),
        (b"[]", "the body is a list"),
        (b'"a"', "the body is a string"),
        (b"3", "the body is a number"),
        (b"true", "the body is true or false"),
        (b"null", "the body is null"),
    ],
)
def test_bodies_that_are_no_object_are_told_what_is_expected(client, body, message):
    response = client.post("/predict", content=body, headers={"Content-Type": "application/json"})
    assert refused(response, 422, f"^{message}.*; expected a JSON object such as .*, sent as Content-Type")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
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
    response = client.post("/predict", content=body, headers={"Content-Type": "text/plain"})
    assert refused(response, 422, "the body is not declared as JSON; expected .*, sent as Content-Type: ")


def test_the_length_of_a_body_has_a_limit(client):
    room = Limits().body
    at_limit = json.dumps({"texts": [TEXT], "model": "parser"}).encode().ljust(room)
    json_type = {"Content-Type": "application/json"}
    assert client.post("/predict", content=at_limit, headers=json_type).status_code == 200
    assert refused(
        client.post("/predict", content=at_limit + b" ", headers=json_type), 413, "larger than 65536"
    )


def test_so_has_one_that_does_not_tell_its_length_and_that_of_any_other_request(client):
    pieces = (b" " * 1000 for _ in range(70))
    assert refused(client.post("/predict", content=pieces), 413, "larger than 65536")
    assert client.request("GET", "/health", content=b" " * 70_000).status_code == 413


@pytest.mark.parametrize(
    ("host", "fine"),
    [
        ("localhost:8000", True),
        ("LOCALHOST", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("[::1]", True),
        ("rebound.example:8000", False),
        ("localhost.rebound.example", False),
        ("127.0.0.1.rebound.example", False),
        ("rebound.example:127.0.0.1", False),
        ("", False),
    ],
)
def test_a_service_of_one_machine_answers_only_for_its_own_names(local, host, fine):
    for method, path in (("GET", "/"), ("GET", "/models"), ("POST", "/predict"), ("GET", "/health")):
        response = local.request(method, path, headers={"Host": host})
        assert (response.status_code == 421) != fine
        assert fine or refused(response, 421, f"host '{host}'; use .*, localhost")
        assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.fixture(scope="module")
def local():
    with TestClient(create_app({"tagger": models.tagger()}, hosts=LOOPBACK)) as client:
        yield client


def test_what_is_not_there_and_what_is_not_taken_are_told(client):
    assert refused(client.get("/nowhere"), 404, "there is nothing at this address; /openapi.json lists all")
    refusal = client.get("/predict")
    assert refused(refusal, 405, "this address does not accept GET; use POST")
    assert refusal.headers["Allow"] == "POST"
