"""Pipelines with models in them, on disk, as bytes, and in other processes."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.notice import without_notice
from tests.spacy.test_component import TEXTS, described

pytest.importorskip("spacy", reason='needs spaCy: pip install "strukt[spacy]"')

import spacy

from strukt.errors import DataError
from strukt.spacy import StruktComponent

KINDS = ["parser", "universal", "ner"]
OPTIONS = {"probabilities": True, "k": 2}


def test_a_saved_pipeline_brings_its_models(pipeline, folder_of, tmp_path):
    nlp = spacy.blank("en")
    for kind in KINDS:
        shutil.copytree(folder_of(kind), tmp_path / kind)
        (tmp_path / kind / "training").mkdir()
        (tmp_path / kind / "training" / "checkpoint").write_bytes(b"large")
        nlp.add_pipe("strukt", name=kind, config={"model": str(tmp_path / kind), **OPTIONS})
    expected = [described(doc) for doc in nlp.pipe(TEXTS)]
    nlp.to_disk(tmp_path / "saved")
    for kind in KINDS:
        shutil.rmtree(tmp_path / kind)
    (tmp_path / "saved").rename(tmp_path / "moved")
    again = spacy.load(tmp_path / "moved")
    shutil.rmtree(tmp_path / "moved" / "ner")  # what is loaded needs its files no more
    assert [described(doc) for doc in again.pipe(TEXTS)] == expected
    assert again.get_pipe("parser").k == 2


def test_nothing_is_saved_but_the_files_of_the_model(pipeline, folder_of, tmp_path):
    pipeline("parser").to_disk(tmp_path)
    copied = {path.name: path.read_bytes() for path in (tmp_path / "parser").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in Path(folder_of("parser")).iterdir()}
    assert {path.rpartition(".")[2] for path in copied} == {"json", "safetensors"}


def test_a_pipeline_is_saved_where_it_was_loaded_from(pipeline, tmp_path):
    pipeline("parser").to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    nlp.to_disk(tmp_path)
    assert described(spacy.load(tmp_path)(TEXTS[0])) == described(nlp(TEXTS[0]))


def test_another_model_is_replaced(pipeline, tmp_path):
    pipeline("parser").get_pipe("parser").to_disk(tmp_path)
    (tmp_path / "onnx").mkdir()
    component = pipeline("tagger").get_pipe("tagger")
    component.to_disk(tmp_path)
    assert not (tmp_path / "onnx").exists()
    assert StruktComponent("again", str(tmp_path)).labels == component.labels


def test_bytes(pipeline):
    nlp = pipeline(*KINDS, **OPTIONS)
    again = spacy.blank("en")
    for kind in KINDS:
        again.add_pipe("strukt", name=kind, config={"model": "elsewhere", **OPTIONS})
    again.from_bytes(nlp.to_bytes())
    assert [described(doc) for doc in again.pipe(TEXTS)] == [described(doc) for doc in nlp.pipe(TEXTS)]
    folder = again.get_pipe("ner").folder
    assert again.get_pipe("ner").to_bytes() == nlp.get_pipe("ner").to_bytes()
    again.remove_pipe("ner")
    assert not os.path.exists(folder)


def test_looking_for_a_model_loads_none(folder_of, tmp_path):
    component = StruktComponent("strukt", str(tmp_path / "later"))
    assert not hasattr(component, "model")  # spaCy asks so in Python 3.11, for some orders of its attributes
    with pytest.raises(AttributeError, match="is loaded with the first document"):
        component.model.train()
    shutil.copytree(folder_of("tagger"), tmp_path / "later")
    component(spacy.blank("en")(TEXTS[0]))
    assert component.model is component.model


@pytest.mark.parametrize("name", ["encoder/../../x", "run.py", "/etc/x"])
def test_bytes_write_nothing_but_a_model(name, tmp_path):
    import srsly

    from strukt.spacy import model_files

    with pytest.raises(DataError, match="is not a file of a model"):
        model_files.write({name: b""}, tmp_path / "model")
    with pytest.raises(DataError, match="is not a file of a model"):
        StruktComponent("strukt", "elsewhere").from_bytes(srsly.msgpack_dumps({name: b""}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [[1], {1: b""}, {"config.json": "text"}])
def test_damaged_bytes_are_refused(content):
    import srsly

    component, packed = StruktComponent("strukt", "elsewhere"), srsly.msgpack_dumps(content)
    with pytest.raises(DataError, match="the bytes hold no files of a model; expected the result of to_bytes"):
        component.from_bytes(packed)
    for damaged in (packed[:-1], packed + packed, b""):
        with pytest.raises(DataError, match=r"the bytes cannot be unpacked .*expected the result of to_bytes"):
            component.from_bytes(damaged)


def test_a_model_that_is_gone_cannot_be_saved(folder_of, tmp_path):
    shutil.copytree(folder_of("tagger"), tmp_path / "model")
    component = StruktComponent("tagger", str(tmp_path / "model"))
    shutil.rmtree(tmp_path / "model")
    with pytest.raises(DataError, match="no longer holds the saved model"):
        component.to_disk(tmp_path / "saved")
    with pytest.raises(DataError, match="no longer holds the saved model"):
        component.to_bytes()


def test_a_damaged_copy_is_named(pipeline, tmp_path):
    pipeline("parser").to_disk(tmp_path)
    (tmp_path / "parser" / "vocabularies.json").write_text("{")
    with pytest.raises(DataError, match=r"vocabularies\.json"):
        spacy.load(tmp_path)


def test_components_can_be_sent_to_processes_that_are_spawned(pipeline):
    nlp = pipeline("parser", **OPTIONS)
    sent = pickle.loads(pickle.dumps(nlp.get_pipe("parser")))
    assert described(sent(nlp.make_doc(TEXTS[0]))) == described(nlp(TEXTS[0]))


SCRIPT = """
import sys
import spacy
from tests.spacy.test_component import TEXTS, described

nlp = spacy.load(sys.argv[1])
texts = TEXTS * 8
alone = [described(doc) for doc in nlp.pipe(texts, batch_size=7)]  # OpenMP has threads when the workers are forked
assert [described(doc) for doc in nlp.pipe(texts, batch_size=7, n_process=2)] == alone
print(len(alone))
"""


@pytest.mark.slow  # three processes
def test_several_processes_say_the_same_as_one(pipeline, tmp_path):
    pipeline("parser", "tagger", "ner", **OPTIONS).to_disk(tmp_path)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path], capture_output=True, text=True, timeout=300, env=environment
    )
    assert (done.stdout, without_notice(done.stderr)) == (f"{8 * len(TEXTS)}\n", "")
