"""The models of Wu and Tu (2023) by name: what their tasks predict, and how."""

import pytest

from strukt.cli.configuration import parse
from strukt.configurations import configurations
from strukt.tasks.common.ranges import require_valid

OPTIONS = {
    "cogs": {"scheme": "published", "parents": "relative", "average": "sentences"},
    "cogs-transformer": {"scheme": "published", "parents": "relative", "average": "sentences"},
    "mlm-ptb": {"word_scores": "projection", "mask": 0.3, "average": "sentences"},
    "mlm-bllip": {"word_scores": "projection", "mask": 0.3, "average": "sentences"},
    "mlm-ptb-transformer": {"word_scores": "direct", "mask": 0.3, "average": "sentences"},
    "mlm-bllip-transformer": {"word_scores": "direct", "mask": 0.3, "average": "sentences"},
    "tag-ptb": {"criterion": "cross-entropy", "average": "sentences"},
    "tag-ewt": {"criterion": "cross-entropy", "column": "xpos", "average": "sentences"},
    "ner-conll2003": {"criterion": "flat", "scheme": "bioes", "decoder": "softmax", "average": "sentences"},
    "ner-conll2003-transformer": {
        "criterion": "flat", "scheme": "bioes", "decoder": "softmax", "average": "sentences"
    },
    "classify-sst2-transformer": {"model": "encoder", "token": "cls"},
    "classify-sst5-transformer": {"model": "encoder", "token": "cls"},
}

SENTENCES = {
    "cogs": 100, "mlm-ptb": 64, "mlm-bllip": 64, "tag-ptb": 16, "tag-ewt": 64, "ner-conll2003": 32,
    "classify-sst2": 64, "classify-sst5": 64, "cogs-transformer": 100, "mlm-ptb-transformer": 16,
    "mlm-bllip-transformer": 32, "tag-ptb-transformer": 64, "tag-ewt-transformer": 16,
    "classify-sst2-transformer": 128, "classify-sst5-transformer": 64,
    "ner-conll2003-transformer": 32,
}  # fmt: skip
"""Sentences of a batch, in the published code."""


@pytest.mark.parametrize("name", OPTIONS)
def test_tasks_are_those_of_the_paper(name):
    shipped = configurations()[f"published/{name}"]
    config = parse(shipped.task, ["--config", shipped.name]).config
    require_valid(config)
    assert {option: getattr(config, option) for option in OPTIONS[name]} == OPTIONS[name]


@pytest.mark.parametrize("name", ["classify-sst2", "classify-sst5"])
def test_sentences_are_classified_by_the_scores_of_a_root(name):
    config = parse("classify", ["--config", f"published/{name}"]).config
    assert config.encoder.has_root
    assert config.encoder.pt.root_output == "scores"


@pytest.mark.parametrize("name", SENTENCES)
def test_trainings_are_those_of_the_published_code(name):
    """A patience of five epochs without gain there ends with the sixth."""
    shipped = configurations()[f"published/{name}"]
    config = parse(shipped.task, ["--config", shipped.name]).config
    optimizer = config.optimizer
    assert config.trainer.sentences == SENTENCES[name]
    assert (optimizer.kind, optimizer.schedule, optimizer.halve_after) == ("adam", "halving", 6)
    assert (optimizer.beta1, optimizer.beta2, optimizer.clip, optimizer.averaging) == (0.9, 0.999, 5.0, 0.0)
