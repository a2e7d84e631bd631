"""The model of nested entities: what it learns under each criterion, what it writes, and what it refuses."""

import io
import json
from functools import cache

import pytest
import torch
from tests import tiny_corpora
from tests.tasks.learning import learned, untrained

from strukt.data import brackets
from strukt.data.conllu import entity_notes
from strukt.data.entities import Entity, depths, json_lines, layers
from strukt.errors import DataError
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.ner.tag_spans import TagSpans
from strukt.train import saved_model

SENTENCES = tiny_corpora.nested(12)
NESTING = ["likelihood", "margin", "bits"]


def config(**options):
    return tiny_corpora.ner_config(**options)


@cache
def by_heart(criterion="likelihood", **options):
    """A model that knows the sentences by heart."""
    # Large steps merge codes, which then stay merged.
    pace = {"steps": 120, "rate": 2e-3} if criterion == "bits" else {"steps": 30}
    return learned(EntityModel, config(criterion=criterion, **options), SENTENCES, **pace)[0]


@pytest.fixture(params=[pytest.param(each, marks=pytest.mark.slow if each == "bits" else ()) for each in NESTING])
def model(request):
    return by_heart(request.param)


@pytest.fixture
def ordinary():
    return by_heart()


def source(text):
    return io.BytesIO(text.encode())


def entities(sentences):
    return [sentence.entities for sentence in sentences]


def test_the_example_has_what_is_hard():
    assert any(max(depths(found), default=0) == 1 for found in entities(SENTENCES))
    assert any(len({entity[:2] for entity in found}) < len(found) for found in entities(SENTENCES))
    assert {1, 2} <= {len(sentence) for sentence in SENTENCES}
    assert [] in entities(SENTENCES)


def test_a_tiny_corpus_is_learned_by_heart(model):
    measured = model.measure(SENTENCES)
    unseen = {"unseen_codes": 0.0} if model.layer.bits else {}
    assert measured.scores == dict.fromkeys(("precision", "recall", "f1", "nested_f1"), 100.0) | unseen
    assert measured.details["type"].keys() == {"PER", "LOC", "ORG"}
    assert measured.details["depth"].keys() == {"0", "1"}


def test_predicting_replaces_the_entities_and_nothing_else(model):
    bare = [sentence.annotated(entities=[]) for sentence in SENTENCES]
    assert [str(sentence) for sentence in model.predict(bare)] == [str(sentence) for sentence in SENTENCES]


def test_a_model_saved_before_tags_by_bio_and_a_chain(tmp_path):
    flat = by_heart("flat")
    saved_model.save(flat, tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    del saved["options"]["scheme"], saved["options"]["decoder"]
    (tmp_path / "config.json").write_text(json.dumps(saved))
    again = saved_model.load(tmp_path)
    assert again.layer.tags[:3] == ["O", f"B-{flat.layer.tags[1][2:]}", f"I-{flat.layer.tags[1][2:]}"]
    assert list(map(str, again.predict(SENTENCES))) == list(map(str, flat.predict(SENTENCES)))


@pytest.mark.parametrize("options", [{}, {"scheme": "bioes"}, {"scheme": "bioes", "decoder": "softmax"}])
def test_tags_find_the_outermost_entities(options):
    flat = by_heart("flat", **options)
    assert isinstance(flat.layer, TagSpans)
    outermost = [
        [entity for entity, depth in zip(found, depths(found), strict=True) if depth == 0]
        for found in entities(SENTENCES)
    ]
    assert entities(flat.predict(SENTENCES)) == outermost
    scores = flat.evaluate(SENTENCES)
    assert scores["precision"] == 100.0
    assert scores["nested_f1"] == 0.0
    assert scores["recall"] < 100.0


def test_two_entities_with_the_same_words_are_one_label(ordinary):
    assert any("\t" in label for label in ordinary.vocabularies["labels"].symbols)
    assert ordinary.types == ["LOC", "ORG", "PER"]
    [predicted] = ordinary.predict(SENTENCES[:1])
    assert {entity.label for entity in predicted.entities if entity.start == 5} == {"LOC", "ORG"}


def test_a_batch_without_entities_can_be_learned_from():
    quiet = [sentence for sentence in SENTENCES if not sentence.entities]
    for criterion in [*NESTING, "flat"]:
        model = untrained(EntityModel, config(criterion=criterion), SENTENCES)
        loss = model.loss(model.collate(quiet))
        loss.backward()
        assert loss.isfinite()


def test_conllu_is_annotated_with_notes(ordinary):
    text = "\n".join(f"{place}\t{word}" + "\t_" * 8 for place, word in enumerate(SENTENCES[0].forms, 1))
    sentences = list(entity_notes.read(source(f"# newdoc\n{text}\n\n{text}\n\n")))
    predicted = list(ordinary.predict(sentences))
    assert entities(predicted) == [SENTENCES[0].entities] * 2
    written = "".join(map(str, predicted))
    assert written.startswith("# newdoc\n# global.Entity = eid-etype\n1\t")
    assert entities(entity_notes.read(source(written))) == entities(predicted)


@pytest.mark.parametrize("text", ["{}\n", "{}\tO\n"])
def test_columns_are_annotated_in_layers(ordinary, text):
    columns = "".join(text.format(word) for word in SENTENCES[0].forms)
    predicted = list(ordinary.predict(layers.read(source(f"{columns}\n"))))
    assert entities(predicted) == [SENTENCES[0].entities]
    assert entities(layers.read(source("".join(map(str, predicted))))) == entities(predicted)


def test_text_becomes_json_lines(ordinary):
    text = " ".join(SENTENCES[0].forms)
    [predicted] = ordinary.predict(json_lines.read_text(source(f"{text}\n")))
    assert str(predicted) == str(SENTENCES[0])


def test_probabilities_stand_in_json_lines(model):
    predicted = next(iter(model.predict(SENTENCES[:1], probabilities=True)))
    [again] = json_lines.read(source(str(predicted)))
    assert again.entities == SENTENCES[0].entities
    assert str(predicted).count('"p": ') == len(again.entities)
    (diagram,) = model.diagrams(SENTENCES[:1], probabilities=True)
    assert all(0 < bracket.probability < 1.001 for bracket in diagram.brackets)


def test_probabilities_of_a_sentence_without_entities(model):
    quiet = next(sentence for sentence in SENTENCES if not sentence.entities)
    assert str(next(iter(model.predict([quiet], probabilities=True)))) == str(quiet)


@pytest.mark.parametrize("reader", [layers.read, entity_notes.read])
def test_probabilities_have_no_place_elsewhere(ordinary, reader):
    text = "Ada\n\n" if reader is layers.read else "1\tAda" + "\t_" * 8 + "\n\n"
    with pytest.raises(DataError, match="1: this format has no place for the probabilities of entities"):
        list(ordinary.predict(reader(source(text)), probabilities=True))


def test_types_that_conllu_cannot_hold_are_named():
    text = '{"tokens": ["Faust"], "entities": [{"start": 0, "end": 1, "type": "work-of-art"}]}\n'
    sentences = tiny_corpora.read_json_lines(text)
    model = untrained(EntityModel, config(), sentences)
    words = "1\tFaust" + "\t_" * 8 + "\n\n"
    with pytest.raises(
        DataError, match="1: CoNLL-U has no place for the type 'work-of-art'; give columns or"
    ):
        list(model.predict(entity_notes.read(source(words))))
    assert len(list(model.predict(layers.read(source("Faust\n\n"))))) == 1


def test_pictures_show_codes():
    model = untrained(EntityModel, config(criterion="bits"), SENTENCES)
    diagrams = list(model.diagrams(SENTENCES))
    shown = [bracket.code for diagram in diagrams for bracket in diagram.brackets]
    assert shown
    assert all(0 <= code < 32 for code in shown)
    assert {diagram.bits for diagram in diagrams} == {5}


def test_the_published_model_begins_with_codes_that_differ():
    model = EntityModel.from_corpus(config(criterion="bits-published"), SENTENCES)
    with model.predicting():
        batch = model.collate(list(SENTENCES))
        words = model.words(batch.inputs, batch.lengths)
    within = torch.arange(words.shape[1]) < batch.lengths[:, None]
    assert 0.9 < float(model.layer.hash(words[within]).detach().std()) < 1.1


def test_entities_that_cross_are_refused():
    columns = "a\tB-X\tO\nb\tI-X\tB-Y\nc\tO\tI-Y\n\n"
    named = source("a\tO\n\n" + columns)
    named.name = "a.bio"
    with pytest.raises(DataError, match=r"a.bio:4: the entity 'Y' of words 2 to 3 crosses the entity 'X' of"):
        EntityModel.trainable(config(), list(layers.read(named)))


def test_a_corpus_without_any_entity_is_refused():
    sentences = EntityModel.trainable(config(), list(layers.read(source("a\tO\nb\tO\n\n"))))
    with pytest.raises(DataError, match=r"a.bio: holds no entity to learn from"):
        EntityModel.from_corpus(config(train="a.bio"), sentences)


def test_what_is_not_annotated_teaches_and_measures_nothing(ordinary):
    text = list(layers.read(source("Ada\n\n")))
    for use in (lambda: EntityModel.trainable(config(), text), lambda: ordinary.evaluate(text)):
        with pytest.raises(DataError, match="1: the sentence is not annotated with entities"):
            use()


def test_other_formats_are_refused(ordinary):
    trees = list(brackets.read(source("(UH oh)\n")))
    for use in (lambda: EntityModel.trainable(config(), trees), lambda: list(ordinary.predict(trees))):
        with pytest.raises(DataError, match="1: this task needs a file of entities"):
            use()


def test_crossing_gold_entities_can_be_compared_with(ordinary):
    crossing = SENTENCES[0].annotated(entities=[Entity(0, 2, "PER"), Entity(1, 4, "PER")])
    assert ordinary.evaluate([crossing])["recall"] < 100
