"""Trainings that are killed leave nothing half-written and are resumed to the same bits."""

import itertools
import json
import os
import random
import signal
import time

import pytest
from tests import children, tiny_corpora

from strukt.errors import DataError
from strukt.train import saved_model
from strukt.train.fit import fit

KILLED, TERMINATED = -signal.SIGKILL, -signal.SIGTERM


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """Four epochs of six batches or so, a checkpoint after every third step."""
    folder = tmp_path_factory.mktemp("corpus")
    config = tiny_corpora.dependency_config(
        train=tiny_corpora.write(tiny_corpora.trees(40), folder / "train.conllu"),
        dev=tiny_corpora.write(tiny_corpora.trees(10, seed=1), folder / "dev.conllu"),
    )
    config.trainer.epochs = 4
    config.trainer.threads = 1
    return config


@pytest.fixture(scope="module")
def uninterrupted(config, tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "model"
    assert children.train("dependency", config, output) == 0
    return result(output)


def result(folder):
    """All of a saved model that must not depend on interruptions."""
    metrics = json.loads((folder / "metrics.json").read_text())
    files = ("config.json", "vocabularies.json", "weights.safetensors")
    return [metrics["dev"], metrics["history"], *((folder / name).read_bytes() for name in files)]


def assert_unfinished(output):
    with pytest.raises(
        DataError, match="is not a saved model: its training is unfinished; continue with --resume"
    ):
        saved_model.load(output)


# Before any checkpoint; in the middle of an epoch, at a checkpoint and after one; in a later epoch.
@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 3, 5, 11])
def test_a_killed_training_is_resumed_to_the_same_bits(config, uninterrupted, tmp_path, step):
    output = tmp_path / "model"
    assert children.train("dependency", config, output, at_step=step) == KILLED
    assert_unfinished(output)
    assert children.train("dependency", config, output, resume=True) == 0
    assert result(output) == uninterrupted
    assert not (output / "training" / "checkpoints").exists()


def last_step(output):
    place = max((output / "training" / "checkpoints").glob("step-*"))
    return json.loads((place / "state.json").read_text())["progress"]["step"]


# In the middle of an epoch, far from a regular checkpoint; in the first one, which is compiled.
@pytest.mark.slow
@pytest.mark.parametrize("step", [10, 0])
def test_sigterm_waits_for_the_checkpoint_of_the_step(config, uninterrupted, tmp_path, step):
    output = tmp_path / "model"
    assert children.train("dependency", config, output, at_step=step, by=signal.SIGTERM) == TERMINATED
    assert last_step(output) == step + 1
    assert children.train("dependency", config, output, resume=True) == 0
    assert result(output) == uninterrupted


@pytest.mark.slow
def test_sigterm_after_the_last_batch_waits_for_the_scores_of_the_epoch(config, uninterrupted, tmp_path):
    output, history = tmp_path / "model", uninterrupted[1]
    steps = history[0]["step"]
    assert children.train("dependency", config, output, at_step=steps - 1, by=signal.SIGTERM) == TERMINATED
    assert last_step(output) == steps
    assert children.train("dependency", config, output, resume=True) == 0
    assert result(output) == uninterrupted


@pytest.mark.slow
def test_sigterm_in_the_last_epoch_lets_the_training_finish(config, uninterrupted, tmp_path):
    output, steps = tmp_path / "model", uninterrupted[1][-1]["step"]
    assert children.train("dependency", config, output, at_step=steps - 1, by=signal.SIGTERM) == 0
    assert result(output) == uninterrupted


@pytest.mark.slow
def test_killed_again_and_again(config, uninterrupted, tmp_path):
    output = tmp_path / "model"
    for number, step in enumerate((4, 7, 13, 16)):
        assert children.train("dependency", config, output, resume=number > 0, at_step=step) == KILLED
    assert children.train("dependency", config, output, resume=True) == 0
    assert result(output) == uninterrupted


class Stopped(BaseException):
    """What no training expects."""


def test_stopped_while_it_saves(config, tmp_path, monkeypatch):
    """As when it is killed at the seventh rename, but without a process: it is resumed to the same bits."""
    assert fit("dependency", config, tmp_path / "whole")
    replace, renames = os.replace, itertools.count()

    def replace_or_stop(*arguments):
        if next(renames) == 6:
            raise Stopped
        replace(*arguments)

    output = tmp_path / "model"
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replace_or_stop)
        with pytest.raises(Stopped):
            fit("dependency", config, output)
    assert_unfinished(output)
    fit("dependency", config, output, resume=True)
    assert result(output) == result(tmp_path / "whole")
    assert not (output / "training" / "checkpoints").exists()


# Renames make what was written visible: each of them is a moment at which a save is half done.
@pytest.mark.slow
@pytest.mark.parametrize("rename", [0, 2, 6, 7, 13])
def test_killed_while_it_saves(config, uninterrupted, tmp_path, rename):
    output = tmp_path / "model"
    assert children.train("dependency", config, output, at_rename=rename) == KILLED
    if rename:
        assert_unfinished(output)
    assert children.train("dependency", config, output, resume=rename > 0) == 0
    assert result(output) == uninterrupted
    assert not (output / "training" / "checkpoints").exists()


@pytest.mark.slow
def test_a_damaged_last_checkpoint_costs_only_time(config, uninterrupted, tmp_path):
    output = tmp_path / "model"
    assert children.train("dependency", config, output, at_step=11) == KILLED
    last = max((output / "training" / "checkpoints").glob("step-*"))
    (last / "weights.safetensors").write_bytes(b"damaged")
    config.trainer.threads = 1
    assert children.run(resume_with_warnings, config, output) == 0
    assert result(output) == uninterrupted


def resume_with_warnings(config, output):
    from strukt.train.fit import fit

    with pytest.warns(UserWarning, match="falling back to the checkpoint before it"):
        fit("dependency", config, output, resume=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_killed_at_random_moments(config, uninterrupted, tmp_path, seed):
    generator, output, code = random.Random(seed), tmp_path / "model", KILLED
    attempts = 0
    while code == KILLED:
        child = children.CONTEXT.Process(
            target=children._train, args=("dependency", config, output, attempts > 0, {})
        )
        child.start()
        child.join(generator.uniform(0.2, 2.0) * (1 + attempts / 2))
        if child.exitcode is None:
            child.kill()
            child.join()
        code, attempts = child.exitcode, attempts + (output / "training" / "run.json").exists()
        time.sleep(0)
    assert code == 0
    assert result(output) == uninterrupted
