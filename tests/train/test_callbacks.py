"""Checkpoints, time limit, final model and display, around trainings that are cut short."""


import pytest
import torch
from tests import tiny_corpora

from strukt.data import conllu
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger
from strukt.train import checkpoints
from strukt.train.callbacks import Evaluation
from strukt.train.fit import fit

TRAIN, DEV = tiny_corpora.trees(40), tiny_corpora.trees(8, seed=1)


def config(**options):
    config = tiny_corpora.tag_config()
    config.trainer.epochs = 3
    for name, value in options.items():
        setattr(config.trainer, name, value)
    return config


@pytest.fixture
def written(monkeypatch):
    """The positions of all checkpoints that a training writes."""
    positions, write = [], checkpoints.write

    def noting(folder, checkpoint):
        positions.append((checkpoint.progress.epoch, checkpoint.progress.batch, checkpoint.progress.step))
        write(folder, checkpoint)

    monkeypatch.setattr(checkpoints, "write", noting)
    return positions


def test_checkpoints_come_every_so_many_steps_and_after_each_epoch(tmp_path, written):
    history = fit("tag", config(checkpoint_steps=4), tmp_path / "m", train=TRAIN, dev=DEV)["history"]
    assert not any("dev_loss" in scores for scores in history), "it decides nothing"
    ends = [scores["step"] for scores in history]
    in_between = [step for step in range(4, ends[-1], 4) if step not in ends]
    assert [step for _, _, step in written] == sorted(ends + in_between)
    assert all(batch == 0 for _, batch, step in written if step in ends)
    assert all(batch > 0 for _, batch, step in written if step in in_between)


def test_the_loss_on_the_development_corpus_is_kept_where_it_decides(tmp_path):
    unseen = DEV[0].annotated(xpos=["UNSEEN"] * len(DEV[0]))
    halving = config()
    halving.optimizer.schedule = "halving"
    results = fit("tag", halving, tmp_path / "m", train=TRAIN, dev=[unseen, *DEV])
    losses = [scores["dev_loss"] for scores in results["history"]]
    assert 0 < losses[-1] < losses[0]


@pytest.mark.parametrize("sentence", ["unknown", "refused"])
def test_without_sentences_to_learn_from_there_is_no_such_loss(sentence):
    options = {"constraints": "bio", "criterion": "crf"} if sentence == "refused" else {}
    tags = {"unknown": ["A", "B"], "refused": ["B-X", "I-Y"]}[sentence]
    known = conllu.from_forms(["a", "b"]).annotated(xpos=["B-X", "I-X"])
    model = Tagger.from_corpus(tiny_corpora.tag_config(**options), [known])
    assert Evaluation([known], [known])._dev_loss(model)
    assert Evaluation([known], [known.annotated(xpos=tags)])._dev_loss(model) == {}


def test_an_unlabelled_corpus_has_no_part_in_the_loss_on_the_development_corpus(tmp_path):
    losses = []
    for words in ("the cat\n", "a b c\n" * 50):
        path = tmp_path / "unlabelled.txt"
        path.write_text(words)
        torch.manual_seed(0)
        options = tiny_corpora.dependency_config(criterion="tree", unlabelled=str(path))
        losses.append(Evaluation(TRAIN, DEV)._dev_loss(Parser.from_corpus(options, TRAIN)))
    assert losses[0] == losses[1] != {}


def test_the_loss_on_the_development_corpus_does_not_depend_on_batches():
    model = Tagger.from_corpus(tiny_corpora.tag_config(), TRAIN)
    short = conllu.from_forms(["the", "cat"]).annotated(xpos=["DT", "NN"])
    known = [*DEV, short]
    losses = []
    for tokens in (1000, 1):
        model.config.trainer.tokens = tokens
        losses.append(Evaluation(TRAIN, known)._dev_loss(model)["dev_loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_where_there_is_no_terminal_only_scores_are_shown(tmp_path, capfd):
    results = fit("tag", config(), tmp_path / "m", train=TRAIN, dev=DEV)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 3
    for number, (line, scores) in enumerate(zip(lines, results["history"], strict=True), start=1):
        assert line.startswith(
            f"epoch   {number}  loss {scores['loss']:.4f}  accuracy {scores['accuracy']:.2f}"
        )
    values = [scores["accuracy"] for scores in results["history"]]
    better = [value > max(values[:place], default=-1.0) for place, value in enumerate(values)]
    assert ["(best)" in line for line in lines] == better, "of equal ones the first is kept"
    assert "\x1b" not in "".join(lines)


def test_curves_are_written_for_tensorboard_and_the_learning_rate_falls_to_zero(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    options = config(epochs=5)
    fit("tag", options, tmp_path / "m", train=TRAIN, dev=DEV)
    curves = EventAccumulator(str(tmp_path / "m" / "training" / "log")).Reload()
    assert {"loss", "learning_rate", "dev/accuracy"} <= set(curves.Tags()["scalars"])
    assert len(curves.Scalars("dev/accuracy")) == 5
    rates = [point.value for point in curves.Scalars("learning_rate")]
    assert len(rates) >= 3
    assert rates[0] == max(rates) <= options.optimizer.learning_rate
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0] / 2
