"""Damaged records beside a saved model: the commands that read them say which file, in one line."""

import json
import shutil

import pytest
import torch
from tests import tiny_corpora

from strukt.cli.main import main
from strukt.tasks.dependency.model import Parser
from strukt.train import saved_model

EPOCH = {"epoch": 1, "step": 2, "loss": 0.5, "LAS": 50.0}
NO_SCORES = [
    "null", "3", "[]", '{"dev": 3}', '{"dev": {"LAS": "x"}}', '{"history": {}}', '{"history": [3]}',
    '{"history": [{"LAS": null}]}', '{"history": [{"LAS": []}]}', '{"history": [{"LAS": NaN}]}',
    '{"dev": {"loss": NaN}}', '{"history": [{"step": 1e400, "LAS": 1.0}]}',
    '{"history": [{"step": 1, "LAS": 1e308}, {"step": 2, "LAS": -1e308}]}',
    f'{{"history": [{{"step": 1, "LAS": {10**400}}}]}}',
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("records") / "model"
    parser = Parser.from_corpus(tiny_corpora.dependency_config(), tiny_corpora.trees(6))
    saved_model.save(parser, folder, {"dev": EPOCH, "history": [EPOCH]})
    return folder


@pytest.fixture
def model(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "model")


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
    for command in (
        ["show", model, "--history", "LAS"],
        ["card", model],
        ["export", model, "-o", tmp_path / "x"],
    ):
        assert "metrics.json: is damaged" in refused(*command)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("content", ["null", "[]", "3", "{"])
def test_a_damaged_environment(content, model, tmp_path, refused):
    (model / "environment.json").write_text(content)
    for command in (["card", model], ["export", model, "-o", tmp_path / "x"]):
        assert "environment.json: is damaged" in refused(*command)


def test_a_curve_of_very_large_numbers(model, capsys):
    history = [{"step": 1, "perplexity": 1e305}, {"step": 2, "perplexity": -1e305}]
    (model / "metrics.json").write_text(json.dumps({"history": history}))
    assert main(["show", str(model), "--history", "perplexity"]) == 0
    assert "1e+305" in capsys.readouterr().out


def test_the_curve_has_the_epochs_that_were_measured(model, capsys):
    history = [EPOCH, {"epoch": 2, "step": 40, "loss": 0.25}, {**EPOCH, "step": 600}]
    (model / "metrics.json").write_text(json.dumps({"history": history}))
    assert main(["show", str(model), "--history", "LAS"]) == 0
    drawn = capsys.readouterr().out
    assert "600" in drawn
    assert "40" not in drawn
