"""Trainings of spans that are killed are resumed to the same bits, statistics and counts of codes too."""

import signal

import pytest
from tests import children, tiny_corpora
from tests.faults.test_killed_training import result

from strukt.train import saved_model

CONFIGS = {"constituency": tiny_corpora.constituency_config, "ner": tiny_corpora.ner_config}
CORPORA = {"constituency": tiny_corpora.phrases, "ner": tiny_corpora.nested}
SUFFIXES = {"constituency": "ptb", "ner": "jsonl"}


# Codes of a tree, all of which is known; and of entities, around which trees are drawn at random.
@pytest.mark.slow
@pytest.mark.parametrize("task", CONFIGS)
def test_a_killed_training_is_resumed_to_the_same_bits(task, tmp_path):
    config = CONFIGS[task](
        criterion="bits",
        train=tiny_corpora.write(CORPORA[task](30), tmp_path / f"train.{SUFFIXES[task]}"),
        dev=tiny_corpora.write(CORPORA[task](8, seed=1), tmp_path / f"dev.{SUFFIXES[task]}"),
    )
    config.trainer.epochs, config.trainer.threads = 3, 1
    assert children.train(task, config, tmp_path / "whole") == 0
    for number, step in enumerate((1, 4)):  # before any checkpoint, and after one in the middle of an epoch
        died = children.train(task, config, tmp_path / "killed", resume=number > 0, at_step=step)
        assert died == -signal.SIGKILL
    assert children.train(task, config, tmp_path / "killed", resume=True) == 0
    assert result(tmp_path / "killed") == result(tmp_path / "whole")
    assert saved_model.load(tmp_path / "killed").layer.codes
