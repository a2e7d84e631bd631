"""Tagging with binary codes of words: what is learned, counted, written and saved."""

import pytest
from tests import tiny_corpora
from tests.tasks import learning

from strukt.data.vocabulary.codes import CodeVocabulary
from strukt.errors import SettingError
from strukt.onnx.export import export
from strukt.tasks.common import ranges
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model

SENTENCES = tiny_corpora.trees(12)


def config(**options):
    return tiny_corpora.tag_config(criterion="bits", **{"bits": 6, **options})


@pytest.fixture(scope="module")
def model():
    options = {"variant": "max", "code_labels": "tags"}
    return learning.learned(Tagger, config(**options), SENTENCES, 60, rate=1e-2)[0]


def test_tags_are_learned_by_heart_and_codes_mean_them(model):
    scores = model.evaluate(SENTENCES)
    assert scores["accuracy"] == 100.0
    assert scores["code_agreement"] > 90


def test_codes_are_notes_beside_probabilities(model):
    (predicted,) = model.predict(SENTENCES[:1], probabilities=True)
    batch = model.collate(SENTENCES[:1])
    _, bits = model.codes(model.encoder(batch.inputs, batch.lengths), batch.lengths)
    for misc, scores in zip(predicted.column("misc"), bits[0].tolist(), strict=True):
        notes = dict(note.split("=") for note in misc.split("|"))
        assert notes.keys() == {"p", "code"}
        assert len(notes["code"]) == 2
        assert int(notes["code"], 16) == sum(1 << k for k, score in enumerate(scores) if score > 0)
    (plain,) = model.predict(SENTENCES[:1])
    assert "code" not in str(plain)


def test_shares_are_those_of_words():
    codes = Tagger.from_corpus(config(), SENTENCES).codes
    assert codes.shares([0], ["A"]) == {"code_agreement": (0, 1), "unseen_codes": (100, 1)}
    codes.vocabulary = CodeVocabulary({0: {"A": 1}, 63: {"B": 1}, 7: {"B": 1}})
    shares = codes.shares([0, 1, 63, 7], ["A", "B", "B", "A"])
    assert shares == {"code_agreement": (200, 4), "unseen_codes": (100, 4)}


def test_counts_are_of_all_words_and_are_saved(model, tmp_path):
    counts = model.codes.vocabulary.counts
    assert sum(sum(tags.values()) for tags in counts.values()) == sum(map(len, SENTENCES))
    saved_model.save(model, tmp_path / "m")
    loaded = saved_model.load(tmp_path / "m")
    assert loaded.codes.vocabulary == model.codes.vocabulary
    assert list(map(str, loaded.predict(SENTENCES, True))) == list(map(str, model.predict(SENTENCES, True)))


def test_distances_of_codes_are_shown(model):
    assert {*model.code_distances().rows} == {*model.codes.vocabulary.labels}
    assert Tagger.from_corpus(tiny_corpora.tag_config(), SENTENCES).code_distances() is None


def test_what_needs_codes_is_refused_without_them():
    for name, value in {"bits": 8, "variant": "sup", "code_weight": 2.0, "code_labels": "tags"}.items():
        with pytest.raises(SettingError, match=f"--{name} is {value}, .* it needs --criterion bits"):
            ranges.require_valid(tiny_corpora.tag_config(**{name: value}))
    ranges.require_valid(config(variant="sup", code_weight=0.0))
    with pytest.raises(SettingError, match=r"--code_weight is -1\.0; expected 0 or more"):
        ranges.require_valid(config(code_weight=-1.0))
    with pytest.raises(SettingError, match="trained with --criterion bits cannot be exported"):
        export(Tagger.from_corpus(config(), SENTENCES), "nowhere")
