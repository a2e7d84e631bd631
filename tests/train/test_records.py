"""Damaged records beside a saved model: the commands that read them say which file, in one line."""

import json

import pytest
import torch
from tests import tiny_corpora

from strukt.cli.main import main
from strukt.tasks.parser import Parser
from strukt.train import bundle
from strukt.train.records import read_metrics

EPOCH = {"epoch": 1, "step": 2, "loss": 0.5, "LAS": 50.0}
NO_SCORES = [
    "null", "3", "[]", '{"dev": 3}', '{"dev": {"LAS": "x"}}', '{"history": {}}', '{"history": [3]}',
    '{"history": [{"LAS": null}]}', '{"history": [{"LAS": []}]}',
]  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("records") / "model"
    parser = Parser.from_corpus(tiny_corpora.dependency_config(), tiny_corpora.trees(6))
    bundle.save(parser, folder, {"dev": EPOCH, "history": [EPOCH]})
    return folder


@pytest.fixture
def refused(capsys):
    def run(*arguments: object) -> str:
        assert main([str(argument) for argument in arguments]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        return err

    return run


@pytest.mark.parametrize("content", NO_SCORES)
def test_damaged_metrics(content, model, tmp_path, refused):
    (model / "metrics.json").write_text(content)
    for command in (["show", model, "--history", "LAS"], ["card", model], ["export", model, "-o", tmp_path / "x"]):
        assert "metrics.json: is damaged" in refused(*command)
    assert not (tmp_path / "x").exists()
    (model / "metrics.json").write_text(json.dumps({"history": [EPOCH]}))


@pytest.mark.parametrize("content", ["null", "[]", "3", "{"])
def test_a_damaged_environment(content, model, tmp_path, refused):
    kept = (model / "environment.json").read_text()
    (model / "environment.json").write_text(content)
    for command in (["card", model], ["export", model, "-o", tmp_path / "x"]):
        assert "environment.json: is damaged" in refused(*command)
    (model / "environment.json").write_text(kept)


def test_the_curve_skips_epochs_without_the_score(model, capsys):
    (model / "metrics.json").write_text(json.dumps({"history": [EPOCH, {"epoch": 2, "step": 4, "loss": 0.25}]}))
    assert len(read_metrics(model)["history"]) == 2
    assert main(["show", str(model), "--history", "LAS"]) == 0
    assert "LAS" in capsys.readouterr().out
