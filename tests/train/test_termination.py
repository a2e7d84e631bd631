"""SIGTERM during a training that a program has begun, with its own handler of the signal or without."""

import signal
from contextlib import contextmanager

import pytest
from tests import tiny_corpora

from strukt.train import callbacks, checkpoints, saved_model, training
from strukt.train.fit import fit

TRAIN, DEV = tiny_corpora.trees(40), tiny_corpora.trees(8, seed=1)
STEP = 4


@contextmanager
def handled_by(handler):
    former = signal.signal(signal.SIGTERM, handler)
    try:
        yield
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, former)


@pytest.fixture
def terminated(monkeypatch, tmp_path):
    """Trains in this process, which receives the signal in one of the steps; the exit code of the training."""
    seed_step = training.seed_step

    def seed(seed, step, rank):
        if step == STEP:
            signal.raise_signal(signal.SIGTERM)
        seed_step(seed, step, rank)

    def train():
        config = tiny_corpora.tag_config()
        config.trainer.checkpoint_steps = 1000
        with pytest.raises(SystemExit) as ended:
            fit("tag", config, tmp_path / "m", train=TRAIN, dev=DEV)
        return ended.value.code

    monkeypatch.setattr(training, "seed_step", seed)
    return train


def test_the_handler_of_a_program_is_called_after_the_checkpoint(terminated, tmp_path):
    steps = []

    def note(*_):
        steps.append(checkpoints.newest(tmp_path / "m" / "training" / "checkpoints").progress.step)

    with handled_by(note):
        assert terminated() == 143
    assert steps == [STEP + 1]


def test_the_handler_of_a_program_is_called_after_a_training_that_has_finished(monkeypatch, tmp_path):
    save, calls = callbacks.save_best, []

    def signal_and_save(*arguments):
        signal.raise_signal(signal.SIGTERM)
        save(*arguments)

    monkeypatch.setattr(callbacks, "save_best", signal_and_save)
    with handled_by(lambda *_: calls.append(saved_model.load(tmp_path / "m"))):
        assert fit("tag", tiny_corpora.tag_config(), tmp_path / "m", train=TRAIN, dev=DEV)["dev"]
    assert len(calls) == 1


def test_a_handler_that_ends_the_program_decides_on_the_exit_code(terminated):
    def leave(*_):
        raise SystemExit(7)

    with handled_by(leave):
        assert terminated() == 7
