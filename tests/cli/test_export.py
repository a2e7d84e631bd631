"""Exporting from the command line."""

import json

import pytest

from strukt.cli.main import main

for package in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(package)


@pytest.mark.slow  # in CI tests/onnx/test_export.py exports a tagger
def test_an_exported_tagger_is_used_as_any_model(tagger, treebank, tmp_path, capfd):
    folder = str(tmp_path / "now exported")
    assert main(["export", tagger, "-o", folder, "--format", "onnx"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert err == f"exported to {folder}; use it with: strukt predict '{folder}' FILE\n"
    found = []
    for model in (tagger, folder):
        assert main(["evaluate", model, treebank.test, "--json"]) == 0
        assert main(["predict", model, treebank.test]) == 0
        found.append(capfd.readouterr().out)
    assert found[0] == found[1]
    assert json.loads(found[0].splitlines()[0])["accuracy"] > 0


@pytest.mark.slow
def test_a_rounded_model_claims_no_scores_of_the_one_that_it_comes_from(tagger, treebank, tmp_path, capfd):
    folder = tmp_path / "rounded"
    assert main(["export", tagger, "-o", str(folder), "--precision", "int8"]) == 0
    assert json.loads((folder / "metrics.json").read_text()) == {}
    capfd.readouterr()
    assert main(["evaluate", str(folder), treebank.test, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["accuracy"] > 0


@pytest.mark.slow
def test_dev_scores_of_both_models_are_printed_and_those_of_the_new_one_kept(tagger, treebank, tmp_path, capfd):
    folder = tmp_path / "rounded"
    assert main(["export", tagger, "-o", str(folder), "--precision", "int8", "--dev", treebank.test]) == 0
    head, row = capfd.readouterr().out.splitlines()
    assert head.split() == [tagger, str(folder)]
    kept = json.loads((folder / "metrics.json").read_text())["dev"]
    scores = []
    for model in (tagger, str(folder)):
        assert main(["evaluate", model, treebank.test, "--json"]) == 0
        scores.append(json.loads(capfd.readouterr().out)["accuracy"])
    assert row.split() == ["accuracy", *(f"{score:.2f}" for score in scores)]
    assert kept == {"accuracy": scores[1]}


def test_a_missing_or_empty_dev_corpus_is_reported_before_the_export(tagger, tmp_path, capsys):
    (tmp_path / "empty.conllu").touch()
    assert main(["export", tagger, "-o", str(tmp_path / "x"), "--dev", str(tmp_path / "empty.conllu")]) == 2
    assert "empty.conllu: the file holds no sentence" in capsys.readouterr().err
    assert main(["export", tagger, "-o", str(tmp_path / "x"), "--dev", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_it_says_what_cannot_be_exported(tagger, tmp_path, capsys):
    assert main(["export", tagger, "-o", tagger]) == 2
    assert "holds a model already" in capsys.readouterr().err
    assert main(["export", tagger]) == 2
    assert "-o" in capsys.readouterr().err
    assert main(["export", str(tmp_path), "-o", str(tmp_path / "x")]) == 2
    assert "is not a saved model" in capsys.readouterr().err
