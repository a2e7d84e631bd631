"""Files that the service annotates, over HTTP and on the page."""

import io
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import tiny_corpora
from tests.serve import models
from tests.serve.asking import PLAYWRIGHT, ask, at, refused
from tests.serve.conftest import wait_until_ready

from strukt.data import brackets, conllu, corpus
from strukt.data.classes import labelled
from strukt.data.entities import json_lines
from strukt.serve.app import create_app
from strukt.serve.files import AT_A_TIME, batches
from strukt.serve.limits import Limits
from strukt.serve.messages import Format
from strukt.tasks.classify import Config
from strukt.tasks.classify.model import Classifier

TREES = tiny_corpora.trees(3, seed=4)
COLUMNS = "\t_" * 8


def annotate(client, name, text, model="parser", **options):
    return client.post("/annotate", json={"name": name, "text": text, "model": model, **options})


def test_a_file_comes_back_as_strukt_predict_writes_it(client):
    text = "".join(map(str, TREES))
    answer = annotate(client, "news.conllu", text).json()
    predicted = list(models.parser().predict(TREES))
    assert answer == {
        "name": "news.annotated.conllu",
        "text": "".join(map(str, predicted)),
        "sentences": 3,
        "words": sum(map(len, TREES)),
        "notes": [],
    }


def test_probabilities_are_noted(client):
    answer = annotate(client, "news.conllu", str(TREES[0]), "tagger", probabilities=True).json()
    [sentence] = conllu.read(io.BytesIO(answer["text"].encode()))
    assert all(note.startswith("p=") for note in sentence.column("misc"))


@pytest.mark.parametrize(
    ("model", "ending", "read"),
    [
        ("parser", ".conllu", conllu.read),
        ("pipeline", ".conllu", conllu.read),
        ("constituency", ".ptb", brackets.read),
        ("ner", ".jsonl", json_lines.read),
    ],
)
def test_plain_text_becomes_a_file_of_the_format_of_the_task(client, model, ending, read):
    answer = annotate(client, "news.txt", "the old cat sees a dog\nthey sing\n", model).json()
    assert answer["name"] == f"news.annotated{ending}"
    assert [len(sentence) for sentence in read(io.BytesIO(answer["text"].encode()))] == [6, 2]
    assert (answer["sentences"], answer["words"]) == (2, 8)


def test_plain_text_becomes_lines_with_classes():
    read = labelled.read(io.BytesIO(b"good\tnice film\nbad\tdull film\n"))
    model = Classifier.from_corpus(tiny_corpora.small(Config()), list(read))
    with TestClient(create_app({"polarity": model})) as client:
        response = annotate(client, "news.txt", "nice\nvery dull\n", "polarity")
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["name"] == "news.annotated.tsv"
    stream = io.BytesIO(answer["text"].encode())
    stream.name = answer["name"]
    again = corpus.read(stream, None, model.readers())
    assert [sentence.forms for sentence in again] == [["nice"], ["very", "dull"]]


def test_the_format_may_be_stated(client):
    answer = annotate(client, "news", "the old cat\n", format="text").json()
    assert (answer["name"], answer["sentences"]) == ("news.annotated", 1)
    assert set(Format.__args__) == set(corpus.FORMATS)


def test_what_is_repaired_is_told(client):
    answer = annotate(client, "news.conllu", str(TREES[0]).replace("\n", "\r\n")).json()
    assert answer["text"] == str(next(models.parser().predict(TREES[:1])))
    assert answer["notes"] == ["news.conllu:1: the lines end in CRLF; reading and writing them as LF"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("news.conllu", f"1\ta{COLUMNS}\n\n1\tdog\t_\n\n", "^news.conllu:3: expected 10 columns, found 3"),
        ("news.conllu", "", "^news.conllu: .*no sentence"),
        ("news.tsv", "Ada\tB-PER\n\n", "^news.tsv: has the format columns; expected one of conllu, text"),
        ("news.pdf", "x", "^news.pdf: its name does not determine the format"),
        ("../news", "x", "^../news: its name does not determine the format"),
        ("-", "x", "^-: its name does not determine the format"),
        (
            "news.txt",
            "they sing\n" + "a " * 151,
            "^news.txt:2: the sentence has 151 words; this service reads up",
        ),
        ("news.txt", "\ud800", "news.txt:1: .*UTF-8"),
        ("", "x", "^name: String should have at least 1 character"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(client, name, text, message):
    body = {"name": name, "text": text, "model": "parser"}
    if text == "\ud800":
        body = '{"name": "news.txt", "text": "\\ud800", "model": "parser"}'
        sent = client.post("/annotate", content=body, headers={"Content-Type": "application/json"})
    else:
        sent = client.post("/annotate", json=body)
    assert refused(sent, 422, message)


def test_a_file_without_place_for_probabilities_is_refused(client):
    tree = str(tiny_corpora.phrases(1)[0])
    sent = annotate(client, "a.ptb", tree, "constituency", probabilities=True)
    assert refused(sent, 422, "^a.ptb:1: trees have no place for probabilities")


def test_plain_text_is_split_as_the_text_of_a_request(client):
    text = "The old cat isn't here.\n\n(Really?)\n"
    answer = annotate(client, "news.txt", text).json()
    forms = [sentence.forms for sentence in conllu.read(io.BytesIO(answer["text"].encode()))]
    assert forms == [["The", "old", "cat", "isn't", "here", "."], ["(", "Really", "?", ")"]]
    assert forms == [ask(client, texts=[line]).json()["answers"][0]["words"] for line in text.split("\n\n")]


def test_batches_have_all_sentences_in_order():
    sentences = tiny_corpora.trees(700)
    batched = list(batches(iter(sentences)))
    assert [each for batch in batched for each in batch] == sentences
    assert [AT_A_TIME <= sum(map(len, batch)) < AT_A_TIME + 20 for batch in batched[:-1]]
    assert len(batched) > 2


def test_large_and_late_files_are_refused():
    limits = Limits(body=100, file=20_000, seconds=10)
    with TestClient(create_app({"parser": models.parser()}, limits)) as client:
        wait_until_ready(client)
        assert refused(annotate(client, "a.txt", "dog " * 6000), 413, "the request is larger than 20000 bytes")
        assert annotate(client, "a.txt", "dog\n" * 2000).json()["sentences"] == 2000
    with TestClient(create_app({"parser": models.parser()}, Limits(seconds=0.001))) as client:
        wait_until_ready(client)
        assert refused(annotate(client, "a.txt", "a dog\n" * 900), 504, "no answer within 0.001 seconds")


def test_other_requests_have_their_turn_between_the_batches_of_a_file():
    with TestClient(create_app({"parser": models.parser()}, Limits(threads=1))) as client:
        wait_until_ready(client)
        with ThreadPoolExecutor(1) as beside:
            annotating = beside.submit(annotate, client, "a.txt", "a dog sees the old cat\n" * 800)
            while not annotating.done():
                assert ask(client).status_code == 200
                answered_before = not annotating.done()
                if answered_before:
                    break
            assert answered_before
            assert annotating.result().json()["words"] == 4800


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["a.conllu", "a.txt", "a.ptb", "a.jsonl", "a.tsv"]),
    st.lists(st.sampled_from(["1\ta", COLUMNS, "\n", "\r\n", "(S", ")", "{", "# x", " ", "\x00", "Ω"])).map(
        "".join
    ),
    st.sampled_from(["parser", "tagger", "constituency", "ner"]),
)
def test_every_file_is_annotated_or_refused_in_one_line(client, name, text, model):
    answer = annotate(client, name, text, model)
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 422:
        assert answer.json().keys() == {"error"}


# On the page.


@pytest.fixture
def told(opened):
    """Chooses a file on the page; what the page tells of it."""
    pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)
    page = opened(at(model="parser"))
    page.locator("#panel .form").first.wait_for()  # the page listens by then

    def choose(name, content):
        page.set_input_files("#upload", {"name": name, "mimeType": "text/plain", "buffer": content})
        page.locator("#file", has_not_text="...").wait_for()
        return page.locator("#file")

    return choose


@pytest.mark.slow
def test_a_file_is_chosen_and_downloaded(told):
    found = told("news.txt", b"the old cat sees a dog\nthey sing\n")
    assert found.inner_text() == "2 sentences, 8 words. Download news.annotated.conllu"
    with found.page.expect_download() as download:
        found.get_by_role("button").click()
    assert download.value.suggested_filename == "news.annotated.conllu"
    sentences = list(conllu.read(str(download.value.path())))
    assert [sentence.forms for sentence in sentences] == ["the old cat sees a dog".split(), ["they", "sing"]]
    assert all(map(conllu.require_tree, sentences))


@pytest.mark.slow
def test_the_page_tells_the_line_at_fault(told):
    found = told("news.conllu", b"1\tdog\t_\n\n")
    assert found.inner_text().startswith("news.conllu:1: expected 10 columns, found 3")
    assert "fault" in found.get_attribute("class")
    assert told("latin.txt", b"caf\xe9\n").inner_text().startswith("latin.txt is not UTF-8 text")
    assert told("news.txt", b"they sing\n").get_attribute("class") == "told"
