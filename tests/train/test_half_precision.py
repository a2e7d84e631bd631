"""Training in bfloat16 from a corpus to a saved model: networks compute in it, structures in float32 or more."""

import dataclasses

import pytest
import torch
from tests import tiny_corpora
from tests.tiny_corpora import constituency_config, dependency_config, tag_config

from strukt.data import conllu
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks import lm
from strukt.train import saved_model
from strukt.train.fit import fit

PHRASES, TREES = ([make(30), make(10, seed=1)] for make in (tiny_corpora.phrases, tiny_corpora.trees))
TEXTS = [[conllu.from_forms(sentence.forms) for sentence in corpus] for corpus in TREES]

SIZES = {"states": 8, "rank": 4, "size": 16, "state_dropout": 0.0, "feature_dropout": 0.0}

TASKS = {
    "tag": (tag_config(criterion="crf"), TREES),
    "dependency": (dependency_config(), TREES),
    "constituency": (constituency_config(), PHRASES),
    "lm": (lm.Config(**SIZES), TEXTS),
}


@pytest.mark.parametrize(
    "accelerator", [pytest.param("cpu", marks=pytest.mark.slow), pytest.param("gpu", marks=pytest.mark.gpu)]
)
@pytest.mark.parametrize("task", TASKS)
def test_it_learns_on_every_device(tmp_path, monkeypatch, task, accelerator):
    config, (train, dev) = TASKS[task]
    trainer = {"accelerator": accelerator, "precision": "bf16", "epochs": 3, "tokens": 60, "checkpoint_steps": 3}
    config = dataclasses.replace(config, trainer=dataclasses.replace(config.trainer, **trainer))
    types, made = set(), StructuredDistribution.__init__

    def noted(self, scores, *arguments, **options):
        types.update((score.dtype, score.device.type) for score in scores)
        made(self, scores, *arguments, **options)

    monkeypatch.setattr(StructuredDistribution, "__init__", noted)
    history = fit(task, config, tmp_path / "m", train=train, dev=dev)["history"]
    assert history[-1]["loss"] < history[0]["loss"]
    assert {dtype for dtype, _ in types} <= {torch.float32, torch.float64}
    assert ("cuda" if accelerator == "gpu" else "cpu") in {device for _, device in types} or task == "lm"
    found = saved_model.load(tmp_path / "m").evaluate(dev)
    assert all(score == score for score in found.values())
