"""Structures corrected on the page: labels chosen from menus, new arcs and spans by clicks on words."""

import io
import re

import pytest
from tests.serve import models
from tests.serve.asking import PLAYWRIGHT, at
from tests.serve.models import TEXT

from strukt.data import conllu
from strukt.data.entities import json_lines
from strukt.data.parts import Part

sync_api = pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)
expect = sync_api.expect

pytestmark = pytest.mark.slow


def opened_with(opened, **fields):
    page = opened(at(**fields))
    expect(page.locator("#keep-whole")).to_be_enabled()
    return page


def words(page, picture=0):
    """The words of a picture, to be clicked."""
    return page.locator("#panel svg").nth(picture).locator(".form")


def chip(page, number=0):
    return page.locator("#conditions li").nth(number)


def kept(page, button, read):
    """The only sentence of the file in which a sentence is kept by a button."""
    page.get_by_role("button", name=button).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("^Download")).click()
    with open(download.value.path(), "rb") as file:
        (sentence,) = read(io.BytesIO(file.read()))
    return download.value.suggested_filename, sentence


def test_the_relation_of_an_arc_is_chosen_from_those_of_the_model(opened):
    page = opened_with(opened, model="parser")
    group = page.locator('#panel [data-word="3"]')
    head, relation = int(group.get_attribute("data-head")), group.locator(".label").text_content().strip()
    group.locator(".label").click()
    expect(chip(page)).to_contain_text("required: ")
    menu = page.get_by_label("Label of")
    expect(menu).to_have_value(relation)
    assert menu.locator("option").all_text_contents() == [
        "any relation",
        *models.parser().vocabularies["labels"].symbols,
    ]
    menu.select_option("amod")
    expect(group.locator(".label")).to_have_text("amod")
    expect(group).to_have_class(re.compile("required"))
    name, partial = kept(page, "Keep conditions only", conllu.read)
    assert (name, partial.column("head")[2], partial.deprels[2]) == ("trees.conllu", str(head), "amod")
    group.locator(".label").click()  # forbids it
    expect(group.locator(".label")).not_to_have_text("amod")
    expect(page.locator("#keep-conditions")).to_be_enabled()
    _, partial = kept(page, "Keep conditions only", conllu.read)
    assert (partial.column("head"), partial.forbidden) == (["_"] * 6, [Part("arc", (3, head), "amod")])


def test_two_words_make_an_arc_and_the_same_word_twice_the_root(opened):
    page = opened_with(opened, model="parser")
    words(page).nth(1).click()
    expect(page.locator("#step")).to_contain_text("Click the head of “old”")
    words(page).nth(0).click()
    expect(page.locator('#panel [data-word="2"]')).to_have_attribute("data-head", "1")
    words(page).nth(1).focus()
    page.keyboard.press("Enter")
    words(page).nth(5).focus()
    page.keyboard.press("Enter")
    expect(page.locator('#panel [data-word="2"]')).to_have_attribute("data-head", "6")
    expect(page.locator("#conditions li")).to_have_count(1)  # a word has one head
    for _ in range(2):
        words(page).nth(4).click()
    expect(page.locator('#panel [data-word="5"]')).to_have_attribute("data-head", "0")
    assert "required=arc.2.6&required=arc.5.0" in page.url


def test_a_tag_is_chosen_from_those_of_the_model(opened):
    page = opened_with(opened, model="tagger")
    page.locator("#panel .tag").nth(2).click()
    page.get_by_label("Label of cat").select_option("JJ")
    expect(page.locator("#panel .tag").nth(2)).to_have_text("JJ")
    name, whole = kept(page, "Keep this structure", conllu.read)
    assert (name, whole.column("xpos")[2]) == ("tags.conllu", "JJ")


def test_entities_are_removed_relabelled_and_added(opened):
    page = opened_with(opened, model="ner", text="the mayor of Rome visits Ada .")
    labels = page.locator("#panel .label")
    expect(labels).to_have_text(["PER", "LOC", "PER"])
    for _ in range(2):  # required, forbidden
        labels.first.click()
    expect(page.locator("#conditions .forbidden")).to_have_text(re.compile("forbidden: the mayor of Rome PER"))
    labels.last.click()
    page.get_by_label("Label of Ada").select_option("LOC\tORG")
    words(page).nth(6).click()
    words(page).nth(4).click()
    menu = page.get_by_label("Label of visits Ada .")
    expect(menu).to_be_focused()
    menu.select_option("PER")
    expect(page.locator("#conditions .required")).to_have_count(2)
    expect(page.locator("#keep-conditions")).to_be_enabled()
    name, partial = kept(page, "Keep conditions only", json_lines.read)
    assert name == "entities.jsonl"
    assert partial.entities == [(4, 7, "PER"), (5, 6, "LOC"), (5, 6, "ORG")]
    assert partial.is_partial
    assert partial.forbidden == [Part("span", (0, 4), "PER")]
    _, whole = kept(page, "Keep this structure", json_lines.read)
    assert {*partial.entities} <= {*whole.entities}
    assert (0, 4, "PER") not in whole.entities


def test_a_constituent_is_added(opened):
    page = opened_with(opened, model="constituency")
    for word in (1, 2):
        words(page).nth(word).click()
    page.get_by_label("Label of old cat").select_option("NP")
    expect(page.locator("#conditions .required")).to_have_count(1)
    expect(page.locator("#keep-conditions")).to_be_enabled()
    name, partial = kept(page, "Keep conditions only", conllu.read)
    assert name == "phrases.conllu"
    assert str(partial.tree) == "(_ (_ the) (NP (_ old) (_ cat)) (_ sees) (_ a) (_ dog))"


def test_what_was_begun_is_forgotten_with_the_sentence(opened):
    page = opened_with(opened, model="ner")
    for word in (1, 2, 4):
        words(page).nth(word).click()
    expect(page.locator("#conditions .pending")).to_be_visible()
    expect(page.locator("#step")).to_contain_text("begins with “a”")
    page.get_by_label("Sentence").fill(f"{TEXT} today")
    expect(words(page)).to_have_count(7)
    expect(page.locator("#conditions .pending")).to_have_count(0)
    expect(page.locator("#step")).to_be_empty()
