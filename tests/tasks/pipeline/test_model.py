"""Pipelines: what each part learns and predicts is what its own model would, from one reading of the encoder."""

import io
import math
from functools import cache

import pytest
import torch
from tests import tiny_corpora
from tests.tasks.learning import learned
from tests.tiny_corpora import pipeline_config

import strukt
from strukt.data import conllu, text
from strukt.data.conllu import entity_notes
from strukt.errors import DataError, SettingError
from strukt.tasks.pipeline.model import Pipeline
from strukt.train import saved_model

CHOICES = [
    {"trees": "none"},
    {"tags": "none"},
    {"tags": "upos", "trees": "projective"},
    {"entities": "nested"},
    {"tags": "none", "trees": "none", "entities": "flat"},
]


SENTENCES = tiny_corpora.layers(12)


@cache
def by_heart(**options):
    """A pipeline that has learned the sentences."""
    return learned(Pipeline, pipeline_config(**options), SENTENCES, steps=60)[0]


@pytest.mark.parametrize(
    "options",
    [pytest.param(options, marks=pytest.mark.slow if i != 2 else ()) for i, options in enumerate(CHOICES)],
    ids=str,
)
def test_it_learns_a_corpus_by_heart(options, tmp_path):
    model = by_heart(**options)
    scores = model.evaluate(SENTENCES)
    parts = [model.parts[name].quality(scores) for name in model.parts]
    assert scores["mean"] == pytest.approx(math.fsum(parts) / len(parts))
    assert scores["mean"] > 95 or (options.get("entities") == "flat" and scores["precision"] > 95)
    saved_model.save(model, tmp_path)
    loaded = strukt.load(tmp_path)
    assert list(map(str, loaded.predict(SENTENCES, True))) == list(map(str, model.predict(SENTENCES, True)))


def test_the_parts_are_the_models_of_their_tasks():
    """Beside an encoder of its own with the same weights, each has the same loss, gradient and predictions."""
    torch.manual_seed(0)
    pipeline = Pipeline.from_corpus(pipeline_config(entities="nested"), SENTENCES).eval()
    batch = pipeline.collate(SENTENCES)
    pipeline.loss(batch).backward()
    total, gradient = 0.0, 0.0
    [weight] = [pipeline.encoder.embeddings.words.weight]
    annotated = list(pipeline.predict(SENTENCES))
    for name, part in pipeline.parts.items():
        own = type(part).build(part.config, part.vocabularies, None).eval()
        of_encoder = {f"encoder.{key}": value for key, value in pipeline.encoder.state_dict().items()}
        own.load_state_dict(part.state_dict() | of_encoder)
        sentences = SENTENCES if name == "ner" else [sentence.plain for sentence in SENTENCES]
        loss = own.loss(own.collate(sentences))
        loss.backward()
        total, gradient = total + loss.item(), gradient + own.encoder.embeddings.words.weight.grad
        for whole, alone in zip(annotated, own.predict(sentences), strict=True):
            seen = whole if name == "ner" else whole.plain
            assert own.observed(seen) == own.observed(alone)
    assert pipeline.loss(batch).item() == pytest.approx(total, rel=1e-5)
    torch.testing.assert_close(weight.grad, gradient, rtol=1e-4, atol=1e-6)


def test_each_batch_is_encoded_once():
    model, readings = Pipeline.from_corpus(pipeline_config(entities="nested"), SENTENCES), []
    model.encoder.register_forward_hook(lambda *_: readings.append(1))
    model.loss(model.collate(SENTENCES))
    assert len(readings) == 1
    list(model.predict(SENTENCES[:1]))
    assert len(readings) == 2
    assert not any(name.startswith("parts") and "encoder" in name for name in model.state_dict())


def test_probabilities_have_names_of_their_own():
    model = Pipeline.from_corpus(pipeline_config(entities="nested"), SENTENCES)
    [sentence] = model.predict("the cat sees a dog", probabilities=True)
    notes = [[part.split("=")[0] for part in note.split("|")] for note in sentence.column("misc")]
    assert all(set(each) >= {"p", "p_label", "p_tag"} for each in notes)
    assert len(sentence.column("head")) == 5


def test_sentences_without_a_place_for_entities_get_tags_and_trees():
    model = Pipeline.from_corpus(pipeline_config(), SENTENCES)
    [sentence] = model.predict([conllu.from_forms(["the", "cat", "sees"])])
    assert isinstance(sentence, conllu.Sentence)
    assert sorted(sentence.heads)[0] == 0
    model = Pipeline.from_corpus(pipeline_config(entities="nested"), SENTENCES)
    with pytest.raises(DataError, match="file of entities"):
        list(model.predict([conllu.from_forms(["the", "cat", "sees"])]))


def test_text_becomes_conllu_with_all_layers():
    model = by_heart(entities="nested")
    [sentence] = model.predict(" ".join(SENTENCES[0].forms))
    assert str(sentence).startswith("# global.Entity = eid-etype")
    again = list(entity_notes.read(io.BytesIO(str(sentence).encode())))
    assert again[0].entities == sentence.entities == SENTENCES[0].entities
    assert again[0].plain.heads == SENTENCES[0].plain.heads


def test_what_cannot_be_learned():
    untagged = list(text.read_for_entities(io.BytesIO(b"oh no\n")))
    with pytest.raises(DataError, match="xpos"):
        Pipeline.from_corpus(pipeline_config(trees="none"), untagged)
    with pytest.raises(DataError):
        Pipeline.trainable(pipeline_config(), untagged)
    with pytest.raises(SettingError, match="expected one or more to predict"):
        Pipeline.from_corpus(pipeline_config(tags="none", trees="none"), SENTENCES)
    with pytest.raises(DataError, match="file of entities"):
        Pipeline.trainable(pipeline_config(trees="none", entities="nested"), [conllu.from_forms(["oh"])])
