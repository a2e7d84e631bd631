"""Structures in files, whole or what was required and forbidden, over HTTP and on the page."""

import io
import re

import pytest
import torch
from tests import tiny_corpora
from tests.serve import models
from tests.serve.asking import PLAYWRIGHT, ask, at
from tests.serve.models import TEXT

from strukt.data import conllu
from strukt.data.conllu import entity_notes
from strukt.data.entities import json_lines
from strukt.data.parts import Part
from strukt.serve.sentences import sentence_of
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.dependency.model import Parser
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.pipeline.model import Pipeline


def read(text):
    return list(conllu.read(io.BytesIO(text.encode())))


def read_lines(text):
    return list(json_lines.read(io.BytesIO(text.encode())))


def read_layers(text):
    return list(entity_notes.read(io.BytesIO(text.encode())))


@pytest.mark.parametrize("name", ["parser", "tagger", "ner", "constituency", "pipeline"])
def test_the_best_structure_is_written_as_strukt_predict_does(client, name):
    (answer,) = ask(client, model=name, annotation=True).json()["answers"]
    model = models.several()[name]
    sentence = sentence_of(model, TEXT, 50)  # mentions are named after the text
    if name == "constituency":
        sentence = conllu.from_forms(TEXT.split(), [f"# text = {TEXT}"])
    assert answer["structures"][0]["annotation"] == str(next(model.predict([sentence])))


def test_each_structure_is_written(client):
    (answer,) = ask(client, view="kbest", k=3, annotation=True).json()["answers"]
    for structure in answer["structures"]:
        [sentence] = read(structure["annotation"])
        parts = structure["parts"]
        assert sentence.heads == [each["part"]["head"] for each in parts]
        assert sentence.deprels == [each["relation"] for each in parts]


def corrected(client, name, read, **question):
    """The sentence with the whole structure under conditions, and the one with the conditions only."""
    response = ask(client, model=name, annotation=True, **question)
    assert response.status_code == 200, response.text
    (answer,) = response.json()["answers"]
    (whole, *_), (partial, *_) = map(read, (answer["structures"][0]["annotation"], answer["partial"]))
    return whole, partial


def test_required_arcs_are_a_partial_annotation_to_train_on(client):
    required = [{"word": 3, "head": 1}, {"word": 1, "head": 0, "relation": "det"}]
    forbidden = [{"word": 2, "head": 3}, {"word": 5, "head": 6, "relation": "det"}]
    whole, partial = corrected(client, "parser", read, required=required, forbidden=forbidden)
    assert partial.column("head") == ["0", "_", "1", "_", "_", "_"]
    assert partial.column("deprel") == ["det"] + ["_"] * 5
    assert partial.forbidden == [Part("arc", (2, 3), ""), Part("arc", (5, 6), "det")]
    assert [whole.heads[0], whole.heads[2], whole.deprels[0]] == [0, 1, "det"]
    assert whole.heads[1] != 3
    assert (whole.heads[4], whole.deprels[4]) != (6, "det")
    config = tiny_corpora.dependency_config(criterion="tree", partial=True)
    assert Parser.trainable(config, [whole, partial]) == [whole, partial]


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_a_forbidden_relation_makes_its_arc_less_probable_as_training_has_it(client, temperature):
    """The odds of a tree with the arc change by the probability that the arc has another relation."""
    arc = {"word": 1, "head": 3}
    model, question = models.parser(), {"view": "marginals", "temperature": temperature}

    def odds(**conditions):
        (answer,) = ask(client, **question, **conditions).json()["answers"]
        probability = next(each["probability"] for each in answer["alternatives"] if each["part"] == arc)
        return probability / (1 - probability)

    batch = model.collate([sentence_of(model, TEXT, 50)], with_targets=False)
    with model.predicting():
        _, vectors = model.scores(batch.inputs, batch.lengths)
        scores = model.label_scores(vectors, torch.full((1, 6), 3))[0, 0]
    label = model.vocabularies["labels"].index("det")
    other = 1 - scores.softmax(-1)[label].item()
    ratio = odds(forbidden=[{**arc, "relation": "det"}]) / odds()
    assert ratio == pytest.approx(other ** (1 / temperature), rel=0.02)


def test_required_entities_are_a_partial_annotation_to_train_on(client):
    required = [{"start": 0, "end": 3, "label": "LOC\tORG"}, {"start": 2, "end": 3, "label": "PER"}]
    forbidden = [{"start": 5, "end": 6, "label": "LOC"}]
    whole, partial = corrected(client, "ner", read_lines, required=required, forbidden=forbidden)
    assert partial.entities == [(0, 3, "LOC"), (0, 3, "ORG"), (2, 3, "PER")]
    assert {*partial.entities} <= {*whole.entities}
    assert not whole.is_partial
    assert partial.is_partial
    assert partial.forbidden == [Part("span", (5, 6), "LOC")]
    assert EntityModel.trainable(tiny_corpora.ner_config(partial=True), [whole, partial]) == [whole, partial]


def test_required_constituents_are_a_partial_annotation_to_train_on(client):
    required = [{"start": 1, "end": 3, "label": "NP"}, {"start": 0, "end": 3, "label": "INTJ"}]
    forbidden = [{"start": 3, "end": 6, "label": "VP"}]
    whole, partial = corrected(client, "constituency", read, required=required, forbidden=forbidden)
    assert str(partial.tree) == (
        "(_ (INTJ (_ the) (NP (_ old) (_ cat))) (_ sees) (_ a) (_ dog))"
    )
    assert partial.forbidden == [Part("span", (3, 6), "VP")]
    spans = whole.tree.constituents
    assert (1, 3, "NP") in spans
    assert (3, 6, "VP") not in spans
    config = tiny_corpora.constituency_config(partial=True)
    assert ConstituencyParser.trainable(config, [whole, partial]) == [whole, partial]


def test_all_layers_of_a_pipeline_are_one_annotation_to_train_on(client):
    required = [
        {"word": 2, "tag": "NN"},
        {"word": 3, "head": 1, "relation": "obj"},
        {"start": 1, "end": 3, "label": "agent"},
    ]
    forbidden = [{"word": 1, "tag": "JJ"}, {"word": 1, "head": 0}, {"start": 2, "end": 3, "label": "animal"}]
    whole, partial = corrected(client, "pipeline", read_layers, required=required, forbidden=forbidden)
    assert partial.column("xpos") == ["_", "NN", "_", "_", "_", "_"]
    assert partial.column("head") == ["_", "_", "1", "_", "_", "_"]
    assert partial.column("deprel") == ["_", "_", "obj", "_", "_", "_"]
    assert partial.entities == [(1, 3, "agent")]
    assert partial.is_partial
    assert [part.kind for part in partial.forbidden] == ["tag", "arc", "span"]
    assert (whole.column("xpos")[1], whole.column("head")[2], whole.column("deprel")[2]) == ("NN", "1", "obj")
    assert (1, 3, "agent") in whole.entities
    assert (2, 3, "animal") not in whole.entities
    config = tiny_corpora.pipeline_config(entities="nested", partial=True)
    assert Pipeline.trainable(config, [whole, partial]) == [whole, partial]
    (complete,) = read_layers(str(whole) + str(partial))[:1]
    assert complete == whole


# On the page.


@pytest.fixture
def page_at(opened):
    sync_api = pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)

    def open_page(**fields):
        page = opened(at(**fields))
        sync_api.expect(page.locator("#keep-whole")).to_be_enabled()
        return page

    return open_page


def saved(page, read=conllu.read):
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("^Download")).click()
    return download.value.suggested_filename, list(read(str(download.value.path())))


def test_all_layers_of_a_pipeline_are_corrected_and_are_one_file_to_train_on(page_at):
    page = page_at(model="pipeline")
    page.locator("#panel .tag").nth(1).click()
    page.get_by_label("Label of old").select_option("NN")
    trees, entities = (page.locator("#panel svg").nth(number).locator(".form") for number in range(2))
    for word in (trees.nth(1), trees.nth(0), entities.nth(1), entities.nth(2)):
        word.click()
    page.get_by_label("Label of old cat").select_option("animal")
    page.locator("#conditions .required").nth(2).wait_for()
    page.locator("#keep-conditions:enabled").wait_for()
    page.get_by_role("button", name="Keep conditions only").click()
    name, [partial] = saved(page, entity_notes.read)
    assert name == "layers.conllu"
    assert (partial.column("xpos")[1], partial.column("head")[1]) == ("NN", "1")
    assert partial.entities == [(1, 3, "animal")]
    page.get_by_role("button", name="Keep this structure").click()
    _, [whole] = saved(page, entity_notes.read)
    assert (whole.column("xpos")[1], whole.column("head")[1]) == ("NN", "1")
    assert (1, 3, "animal") in whole.entities
    config = tiny_corpora.pipeline_config(entities="nested", partial=True)
    assert Pipeline.trainable(config, [whole, partial]) == [whole, partial]


@pytest.mark.slow
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
    page.get_by_label("Model").select_option("parser")
    page.locator("#keep-whole:enabled").wait_for()
    assert page.locator("#save").is_hidden()


@pytest.mark.slow
def test_the_structure_that_is_shown_alone_is_kept(page_at):
    page = page_at(model="parser", view="kbest", alone="2")
    page.get_by_role("button", name="Keep this structure").click()
    _, [kept] = saved(page)
    topk = models.parser().distribution([kept]).topk(2)
    assert kept.heads == topk.events[0, 1].tolist()


@pytest.mark.slow
def test_nothing_is_kept_that_was_not_answered(page_at):
    page = page_at(model="parser")
    assert page.locator("#keep-conditions").is_disabled()
    page.evaluate("location.hash += '&required=arc.1.2&required=arc.2.1'")
    page.get_by_role("alert").wait_for()
    assert page.locator("#keep-whole").is_disabled()
    assert page.locator("#keep-conditions").is_disabled()


@pytest.mark.slow
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
