"""The tasks of spans on top of a Hugging Face model, from the command line."""

import shutil

import pytest
from tests import tiny_corpora

from strukt.cli.main import main
from strukt.train import saved_model

pytest.importorskip("transformers")
from tests import tiny_pretrained

CORPORA = {"constituency": tiny_corpora.phrases(8), "ner": tiny_corpora.nested(8)}
SUFFIXES = {"constituency": "ptb", "ner": "jsonl"}


@pytest.mark.thinned("task", "criterion")
@pytest.mark.parametrize("task", CORPORA)
@pytest.mark.parametrize("criterion", ["likelihood", "bits"])
def test_trained_saved_moved_and_used_without_its_source(task, criterion, tmp_path, capsys, monkeypatch):
    tiny_pretrained.save("bert", tmp_path / "pretrained")
    corpus = tiny_corpora.write(CORPORA[task], tmp_path / f"corpus.{SUFFIXES[task]}")
    encoder = ["--encoder.kind=pretrained", f"--encoder.pretrained={tmp_path / 'pretrained'}"]
    options = ["--trainer.epochs=1", "--trainer.precision=32", f"--criterion={criterion}"]
    options += ["--bits=4"] if criterion == "bits" else []
    arguments = ["--train", corpus, "--dev", corpus, "-o", str(tmp_path / "m"), *encoder, *options]
    assert main(["train", task, *arguments]) == 0
    shutil.rmtree(tmp_path / "pretrained")
    shutil.move(tmp_path / "m", tmp_path / "moved")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "moved"), corpus]) == 0
    out = capsys.readouterr().out
    assert out == "".join(map(str, saved_model.load(tmp_path / "moved").predict(CORPORA[task])))
    assert len(out.splitlines()) == 8
