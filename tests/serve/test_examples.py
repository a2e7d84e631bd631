"""The texts to try a model with, which it carries."""

import re

import pytest
from fastapi.testclient import TestClient
from tests.serve import models
from tests.serve.asking import PLAYWRIGHT
from tests.serve.conftest import wait_until_ready
from tests.serve.models import TEXT

from strukt.serve.app import create_app
from strukt.serve.served_model import examples, serve

EXAMPLES = [("a dog eats every fish",), ("the cat sees a bird",)]


@pytest.fixture(autouse=True)
def carried(monkeypatch):
    monkeypatch.setattr(models.tagger(), "examples", EXAMPLES)


def test_clients_are_told_of_them():
    with TestClient(create_app({"tagger": models.tagger(), "parser": models.parser()})) as client:
        found = {card["name"]: card["examples"] for card in client.get("/models").json()}
        assert found == {"tagger": [text for (text,) in EXAMPLES], "parser": []}
        wait_until_ready(client)
        for text in found["tagger"]:
            answer = client.post("/predict", json={"texts": [text], "model": "tagger"}).json()
            assert answer["answers"][0]["words"] == text.split()


def test_pairs_are_two_lines_as_questions_have_them(monkeypatch):
    model = models.tagger()
    monkeypatch.setattr(model, "examples", [("a cat", "an animal")])
    assert examples(model) == serve("tagger", model, 50).card.examples == ["a cat\nan animal"]


@pytest.mark.slow
def test_the_page_shows_them_as_buttons_and_reads_the_first(opened_at):
    sync_api = pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)
    expect = sync_api.expect
    page = opened_at({"tagger": models.tagger(), "parser": models.parser()}, "")
    expect(page.get_by_label("Sentence")).to_have_value(EXAMPLES[0][0])
    expect(page.locator("#panel .form")).to_have_text(EXAMPLES[0][0].split())
    buttons = page.locator("#examples button")
    expect(buttons).to_have_text([text for (text,) in EXAMPLES])
    buttons.nth(1).click()
    expect(page.locator("#panel .form")).to_have_text(EXAMPLES[1][0].split())
    expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Sentence").fill(TEXT)
    expect(page.locator("#examples [aria-pressed=true]")).to_have_count(0)
    page.get_by_label("Model").select_option("parser")
    expect(page.locator("#examples")).to_be_hidden()
    assert re.search("model=parser", page.url)


@pytest.mark.slow
def test_on_a_phone_they_take_one_line_that_can_be_moved(opened_at, monkeypatch):
    monkeypatch.setattr(models.tagger(), "examples", [*EXAMPLES, ("a bird sees the old cat",)])
    page = opened_at({"tagger": models.tagger()}, "text=a+dog")
    page.set_viewport_size({"width": 360, "height": 740})
    group = page.locator("#examples")
    group.locator("button").nth(2).wait_for()
    tops = {button.bounding_box()["y"] for button in group.locator("button").all()}
    assert len(tops) == 1
    assert group.evaluate("({ scrollWidth, clientWidth }) => scrollWidth > clientWidth")
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
