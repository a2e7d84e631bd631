"""Training from corpora to a saved model."""

import errno
import io
import json
import os
import re

import pytest
import torch
from tests import tiny_corpora

from strukt.data import conllu
from strukt.data.classes import labelled
from strukt.data.files.problems import DataWarning
from strukt.errors import DataError, OutOfRangeError, StruktError
from strukt.tasks import dictionary
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger
from strukt.train import checkpoints, saved_model
from strukt.train.fit import fit

TRAIN, DEV = tiny_corpora.trees(30), tiny_corpora.trees(10, seed=1)


def test_it_learns_saves_and_says_what_it_reached(tmp_path, capfd):
    results = fit("tag", tiny_corpora.tag_config(), tmp_path / "m", train=TRAIN, dev=DEV)
    assert results["dev"] == next(scores for scores in results["history"] if scores["accuracy"] == 100.0)
    assert len(results["history"]) == results["history"][-1]["epoch"] <= 15
    assert results["history"][-1]["loss"] < results["history"][0]["loss"] / 2
    loaded = saved_model.load(tmp_path / "m")
    assert loaded.evaluate(DEV) == {"accuracy": 100.0}
    assert json.loads((tmp_path / "m" / "metrics.json").read_text()) == results
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.count("epoch") == len(results["history"])


def test_a_wrong_task_or_configuration_is_named(tmp_path):
    with pytest.raises(ValueError, match="task is 'parser'; expected one of tag, dependency, "):
        fit("parser", tiny_corpora.tag_config(), tmp_path / "m", train=TRAIN, dev=DEV)
    with pytest.raises(
        ValueError, match=r"config is a strukt\.tasks\.tag\.config\.Config; the task dependency expects a strukt"
    ):
        fit("dependency", tiny_corpora.tag_config(), tmp_path / "m", train=TRAIN, dev=DEV)
    assert not (tmp_path / "m").exists()


def test_two_runs_with_one_seed_are_the_same_and_with_another_are_not(tmp_path):
    weights = []
    for number, seed in enumerate((1, 1, 2)):
        config = tiny_corpora.tag_config()
        config.trainer.epochs, config.trainer.seed = 2, seed
        fit("tag", config, tmp_path / str(number), train=TRAIN, dev=DEV)
        weights.append((tmp_path / str(number) / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1] != weights[2]


def test_a_program_that_computes_in_float64_trains_the_same_model(tmp_path, float64_by_default):
    config = tiny_corpora.tag_config()
    config.trainer.epochs = 1
    fit("tag", config, tmp_path / "float64", train=TRAIN, dev=DEV)
    torch.set_default_dtype(torch.float32)
    fit("tag", config, tmp_path / "float32", train=TRAIN, dev=DEV)
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("float64", "float32")]
    assert weights[0] == weights[1]


def test_the_random_numbers_of_the_caller_are_left_alone(tmp_path):
    config = tiny_corpora.tag_config()
    config.trainer.epochs = 1
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    fit("tag", config, tmp_path / "m", train=TRAIN, dev=DEV)
    assert torch.equal(torch.rand(3), expected)


def test_it_stops_early_when_nothing_gets_better(tmp_path):
    config = tiny_corpora.tag_config()
    config.trainer.epochs, config.trainer.patience = 40, 2
    history = fit("tag", config, tmp_path / "m", train=TRAIN, dev=DEV)["history"]
    best = max(range(len(history)), key=lambda epoch: history[epoch]["accuracy"])
    assert len(history) == best + 1 + 2 < 40


def test_time_may_run_out_and_be_given_again(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(Tagger, "quality", lambda _, scores: -scores["accuracy"])  # the first step is best
    config = tiny_corpora.tag_config()
    config.trainer.epochs, config.trainer.max_minutes = 3, 1e-9
    results = fit("tag", config, tmp_path / "m", train=TRAIN, dev=DEV)
    assert results["history"][-1]["step"] == 1
    assert checkpoints.newest(tmp_path / "m" / "training" / "checkpoints").progress.step == 1
    assert json.loads((tmp_path / "m" / "metrics.json").read_text()) == results
    part = re.match(r"epoch (0\.\d) .* \(best\)", capfd.readouterr().err)
    assert part
    assert 0 < float(part[1]) < 1
    saved_model.load(tmp_path / "m")
    config.trainer.max_minutes = 0
    results = fit("tag", config, tmp_path / "m", resume=True, train=TRAIN, dev=DEV)
    assert not (tmp_path / "m" / "training" / "checkpoints").exists()
    whole = fit("tag", config, tmp_path / "whole", train=TRAIN, dev=DEV)
    assert results["history"] == whole["history"], "without the scores after the first step"
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("whole", "m")]
    assert weights[0] == weights[1]


def test_a_finished_training_that_could_not_be_saved_is_saved_when_resumed(tmp_path, monkeypatch):
    config = tiny_corpora.tag_config()
    config.trainer.epochs = 2
    fit("tag", config, tmp_path / "whole", train=TRAIN, dev=DEV)

    def full(*_):
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(saved_model, "save", full)
        with pytest.raises(OSError, match="no space left"):
            fit("tag", config, tmp_path / "m", train=TRAIN, dev=DEV)
    results = fit("tag", config, tmp_path / "m", resume=True, train=TRAIN, dev=DEV)
    assert [epoch["epoch"] for epoch in results["history"]] == [1, 2]
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("whole", "m")]
    assert weights[0] == weights[1]
    assert not (tmp_path / "m" / "training" / "checkpoints").exists()


def test_sentences_longer_than_a_batch_are_set_apart_with_a_warning(tmp_path):
    config = tiny_corpora.tag_config()
    config.trainer.epochs, config.trainer.tokens = 1, 8
    with pytest.warns(UserWarning, match="have more than 8 words and are set aside"):
        fit("tag", config, tmp_path / "m", train=TRAIN, dev=DEV)


def test_a_long_sentence_of_the_development_corpus_is_warned_of(tmp_path):
    config = tiny_corpora.tag_config()
    config.trainer.epochs = 1
    long = conllu.from_forms(["x"] * 1001).annotated(xpos=["NAME"] * 1001)
    with pytest.warns(DataWarning, match="the sentence has 1,001 words, which may take minutes"):
        fit("tag", config, tmp_path / "m", train=TRAIN, dev=[*DEV, long])


def test_a_loss_that_is_not_finite_ends_the_training_with_advice(tmp_path):
    config = tiny_corpora.tag_config()
    config.optimizer.learning_rate = 1e30
    with pytest.raises(
        StruktError, match=r"the loss is (nan|inf) after step \d+; lower optimizer.learning_rate"
    ):
        fit("tag", config, tmp_path / "m", train=TRAIN, dev=DEV)


@pytest.mark.parametrize(
    ("task", "criterion", "learning_rate"),
    [
        ("dependency", "head", 1e4),
        ("dependency", "sparsemap", 1e4),
        ("dependency", "tree", 1e4),
        ("tag", "crf", 1e30),
    ],
)
def test_scores_that_are_out_of_range_end_the_training_with_advice(task, criterion, learning_rate, tmp_path):
    config = {"dependency": tiny_corpora.dependency_config, "tag": tiny_corpora.tag_config}[task](
        criterion=criterion
    )
    config.optimizer.learning_rate, config.optimizer.warmup = learning_rate, 0.0
    with pytest.raises(
        StruktError, match=r"the scores are out of range \(.*\) after step \d+; lower optimizer.learning_rate"
    ):
        fit(task, config, tmp_path / "m", train=TRAIN, dev=DEV)
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["training"]


def test_weights_that_are_too_large_to_be_loaded_end_the_training_with_advice(tmp_path):
    config = tiny_corpora.tag_config()
    config.optimizer.learning_rate, config.optimizer.warmup = 1e12, 0.0
    config.trainer.max_minutes = 1e-9  # one step, of which the loss is finite
    with pytest.raises(StruktError, match=r"has weights beyond 1e\+09 after step 1; lower"):
        fit("tag", config, tmp_path / "m", train=TRAIN, dev=DEV)
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["training"]


def test_scores_of_the_development_corpus_that_are_out_of_range_end_the_training(tmp_path, monkeypatch):
    def refused(self, sentences):
        with self.predicting():
            raise OutOfRangeError("arcs holds inf; expected less")

    monkeypatch.setattr(Parser, "measure", refused)
    with pytest.raises(
        StruktError, match=r"the scores are out of range \(arcs holds inf\) after step \d+; lower"
    ):
        fit("dependency", tiny_corpora.dependency_config(), tmp_path / "m", train=TRAIN, dev=DEV)


@pytest.mark.parametrize("name", ["train", "dev"])
def test_both_corpora_are_needed(tmp_path, name):
    given = {"train": TRAIN, "dev": DEV} | {name: None}
    with pytest.raises(StruktError, match=f"--{name} is missing; give a corpus, --{name} FILE"):
        fit("tag", tiny_corpora.tag_config(), tmp_path / "m", **given)
    assert not (tmp_path / "m").exists()


def test_an_empty_corpus_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no sentence"):
        fit("tag", tiny_corpora.tag_config(), tmp_path / "m", train=[], dev=DEV)


def test_no_folder_is_left_if_there_is_nothing_to_resume(tmp_path):
    with pytest.raises(StruktError, match="m: no training began here; omit --resume"):
        fit("tag", tiny_corpora.tag_config(), tmp_path / "m", resume=True, train=TRAIN, dev=DEV)
    assert not (tmp_path / "m").exists()


def test_a_corpus_that_changed_cannot_be_resumed(tmp_path):
    config = tiny_corpora.tag_config()
    config.trainer.max_minutes = 1e-9
    fit("tag", config, tmp_path / "m", train=TRAIN, dev=DEV)
    with pytest.raises(StruktError, match="cannot resume: the training corpus has changed"):
        fit("tag", config, tmp_path / "m", resume=True, train=TRAIN[1:], dev=DEV)
    with pytest.raises(StruktError, match="cannot resume: the development corpus has changed"):
        fit("tag", config, tmp_path / "m", resume=True, train=TRAIN, dev=DEV[1:])


def test_a_disk_that_is_full_for_the_log_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("lightning.pytorch.loggers.TensorBoardLogger.log_metrics", refuse)
    monkeypatch.setattr("lightning.pytorch.loggers.TensorBoardLogger.log_hyperparams", refuse)
    with pytest.raises(DataError, match="m/training: cannot be written: No space left on device"):
        fit("tag", tiny_corpora.tag_config(), tmp_path / "m", train=TRAIN, dev=DEV)


def test_word_vectors_that_changed_cannot_be_resumed(tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 0\ndog 0 1\n")
    definitions = list(labelled.read(io.StringIO("cat\ta pet\ndog\ta friend\n")))
    config = tiny_corpora.small(dictionary.Config(vectors=str(vectors)))
    config.trainer.max_minutes = 1e-9
    fit("dictionary", config, tmp_path / "m", train=definitions, dev=definitions)
    vectors.write_text("dog 0 1\ncat 1 0\n")
    with pytest.raises(StruktError, match="cannot resume: the file of --vectors has changed; restore it"):
        fit("dictionary", config, tmp_path / "m", resume=True, train=definitions, dev=definitions)
