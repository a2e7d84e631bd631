"""Tasks on top of a Hugging Face model, from its folder to a saved model that no longer needs it."""

import shutil

import pytest
from tests import tiny_corpora

from strukt.train import bundle
from strukt.train.fit import fit

pytest.importorskip("transformers")
from tests import tiny_pretrained

SENTENCES = tiny_corpora.trees(12)


@pytest.fixture
def folder(tmp_path):
    tiny_pretrained.save("bert", tmp_path / "pretrained")
    return tmp_path / "pretrained"


@pytest.mark.parametrize("task", ["tag", "dependency"])
def test_trained_saved_moved_and_loaded_without_its_source(task, folder, tmp_path, monkeypatch):
    config = {"tag": tiny_corpora.tag_config, "dependency": tiny_corpora.dependency_config}[task]()
    config.encoder.kind, config.encoder.pretrained, config.trainer.epochs = "pretrained", str(folder), 2
    results = fit(task, config, tmp_path / "m", train=SENTENCES, dev=SENTENCES)
    shutil.rmtree(folder)
    shutil.move(tmp_path / "m", tmp_path / "moved")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    loaded = bundle.load(tmp_path / "moved")
    scores = loaded.evaluate(SENTENCES)
    assert {name: results["dev"][name] for name in scores} == scores
    assert len(list(loaded.predict(SENTENCES))) == len(SENTENCES)


def test_the_pretrained_weights_are_where_training_begins(folder):
    from strukt.nn.pretrained import PretrainedEncoder
    from strukt.tasks.tagger import Tagger

    config = tiny_corpora.tag_config()
    config.encoder.kind, config.encoder.pretrained = "pretrained", str(folder)
    model = Tagger.from_corpus(config, SENTENCES)
    expected = PretrainedEncoder.load(folder).model.state_dict()
    found = model.encoder.words.model.state_dict()
    assert found.keys() == expected.keys()
    assert all((found[name] == expected[name]).all() for name in expected)


def test_a_damaged_tokenizer_is_named(folder, tmp_path):
    from strukt.errors import DataError
    from strukt.tasks.tagger import Tagger

    config = tiny_corpora.tag_config()
    config.encoder.kind, config.encoder.pretrained = "pretrained", str(folder)
    bundle.save(Tagger.from_corpus(config, SENTENCES), tmp_path / "m")
    (tmp_path / "m" / "encoder" / "tokenizer.json").write_text("{")
    with pytest.raises(DataError, match="encoder"):
        bundle.load(tmp_path / "m")
