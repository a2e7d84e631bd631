"""Structures as CoNLL-U, whole or what was required of them, over HTTP and on the page."""

import io
import re

import pytest
from tests import tiny_corpora
from tests.serve import models
from tests.serve.asking import ask, at
from tests.serve.models import TEXT

from strukt.data import conllu
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger


def read(text):
    return list(conllu.read(io.BytesIO(text.encode())))


@pytest.mark.parametrize("name", ["parser", "tagger"])
def test_the_best_structure_is_written_as_strukt_predict_does(client, name):
    (answer,) = ask(client, model=name, conllu=True).json()["answers"]
    assert answer["structures"][0]["conllu"] == str(next(models.several()[name].predict(TEXT)))
    [nothing] = read(answer["partial"])
    assert nothing == conllu.from_forms(TEXT.split(), [f"# text = {TEXT}"])


def test_each_structure_is_written(client):
    (answer,) = ask(client, view="kbest", k=3, conllu=True).json()["answers"]
    for structure in answer["structures"]:
        [sentence] = read(structure["conllu"])
        parts = structure["parts"]
        assert sentence.heads == [each["part"]["head"] for each in parts]
        assert sentence.deprels == [each["relation"] for each in parts]


def test_required_arcs_are_a_partial_annotation_to_train_on(client):
    arcs = [{"word": 3, "head": 1}, {"word": 1, "head": 0}]
    (answer,) = ask(client, required=arcs, forbidden=[{"word": 2, "head": 3}], conllu=True).json()["answers"]
    [whole], [partial] = read(answer["structures"][0]["conllu"]), read(answer["partial"])
    assert partial.column("head") == ["0", "_", "1", "_", "_", "_"]
    assert partial.column("deprel") == ["_"] * 6
    assert [whole.heads[0], whole.heads[2]] == [0, 1]
    assert whole.heads[1] != 3
    config = tiny_corpora.dependency_config(criterion="tree", partial=True)
    assert Parser.trainable(config, [whole, partial]) == [whole, partial]


def test_required_tags_are_a_partial_annotation_to_train_on(client):
    tags = [{"word": 2, "tag": "NN"}, {"word": 4, "tag": "JJ"}]
    (answer,) = ask(client, model="tagger", required=tags, conllu=True).json()["answers"]
    [partial] = read(answer["partial"])
    assert partial.column("xpos") == ["_", "NN", "_", "JJ", "_", "_"]
    assert Tagger.trainable(tiny_corpora.tag_config(criterion="crf", partial=True), [partial]) == [partial]


def test_spans_have_no_columns_and_nothing_is_written_unasked(client):
    for question in ({"model": "constituency", "conllu": True}, {"model": "ner", "conllu": True}, {}):
        (answer,) = ask(client, **question).json()["answers"]
        assert "partial" not in answer
        assert "conllu" not in answer["structures"][0]


# On the page.


@pytest.fixture
def page_at(opened):
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")

    def open_page(**fields):
        page = opened(at(**fields))
        sync_api.expect(page.locator("#keep-whole")).to_be_enabled()
        return page

    return open_page


def require(page, shape):
    page.locator(shape).first.focus()
    page.keyboard.press("Enter")
    page.locator("#conditions .required").wait_for()
    page.locator("#keep-required:enabled").wait_for()


def saved(page):
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("^Download")).click()
    return download.value.suggested_filename, list(conllu.read(str(download.value.path())))


def test_a_corrected_tree_is_kept_and_saved(page_at):
    page = page_at(model="parser", view="marginals")
    best = page.locator('#panel [data-word="3"]').get_attribute("data-head")
    require(page, f'#alternatives [data-key^="3."]:not([data-key="3.{best}"])')
    head = int(page.locator('#panel [data-word="3"]').get_attribute("data-head"))
    assert head != int(best)
    page.get_by_role("button", name="Keep required parts").click()
    name, [partial] = saved(page)
    assert name == "trees.conllu"
    assert partial.column("head") == ["_", "_", str(head), "_", "_", "_"]
    page.get_by_role("button", name="Keep this structure").click()
    name, [whole] = saved(page)  # it has taken the place of the partial one
    assert whole.heads[2] == head
    conllu.require_tree(whole)


def test_several_sentences_are_one_file_for_each_kind(page_at):
    page = page_at(model="tagger")
    for text in (TEXT, "a dog eats"):
        page.get_by_label("Sentence").fill(text)
        page.locator("#panel .form").nth(len(text.split()) - 1).wait_for()
        page.locator("#keep-whole:enabled").wait_for()
        page.get_by_role("button", name="Keep this structure").click()
    assert page.locator("#save").inner_text() == "Download tags.conllu (2)"
    name, sentences = saved(page)
    assert (name, [sentence.forms for sentence in sentences]) == (
        "tags.conllu",
        [TEXT.split(), "a dog eats".split()],
    )
    page.get_by_label("Model").select_option("constituency")
    page.locator("#keep").wait_for(state="hidden")
    page.get_by_label("Model").select_option("parser")
    page.locator("#keep-whole:enabled").wait_for()
    assert page.locator("#save").is_hidden()


def test_the_structure_that_is_shown_alone_is_kept(page_at):
    page = page_at(model="parser", view="kbest", alone="2")
    page.get_by_role("button", name="Keep this structure").click()
    _, [kept] = saved(page)
    topk = models.parser().distribution([kept]).topk(2)
    assert kept.heads == topk.events[0, 1].tolist()


def test_nothing_is_kept_that_was_not_answered(page_at):
    page = page_at(model="parser")
    assert page.locator("#keep-required").is_disabled()
    page.evaluate("location.hash += '&required=1.2&required=2.1'")
    page.get_by_role("alert").wait_for()
    assert page.locator("#keep-whole").is_disabled()
    assert page.locator("#keep-required").is_disabled()


def test_the_page_asks_before_what_is_kept_is_lost(page_at):
    page, asked = page_at(model="parser"), []

    def note(dialog):
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", note)
    page.get_by_role("button", name="Keep this structure").click()
    page.reload()
    assert asked == ["beforeunload"]
    page.locator("#keep-whole:enabled").wait_for()
    page.get_by_role("button", name="Keep this structure").click()
    saved(page)
    page.reload()
    assert asked == ["beforeunload"]
