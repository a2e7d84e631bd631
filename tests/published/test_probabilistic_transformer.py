"""The models of Wu and Tu (2023) by name: what their tasks predict, and how."""

import pytest

from strukt.cli.configuration import parse
from strukt.published import configurations
from strukt.tasks.ranges import require_valid

OPTIONS = {
    "cogs": {"scheme": "published", "parents": "relative", "average": "sentences"},
    "cogs-transformer": {"scheme": "published", "parents": "relative", "average": "sentences"},
    "mlm-ptb": {"word_scores": "projection", "mask": 0.3, "average": "sentences"},
    "mlm-bllip": {"word_scores": "projection", "mask": 0.3, "average": "sentences"},
    "mlm-ptb-transformer": {"word_scores": "tied", "mask": 0.3, "average": "sentences"},
    "mlm-bllip-transformer": {"word_scores": "tied", "mask": 0.3, "average": "sentences"},
    "tag-ptb": {"criterion": "cross-entropy", "average": "sentences"},
    "tag-ewt": {"criterion": "cross-entropy", "column": "xpos", "average": "sentences"},
    "ner-conll2003": {"criterion": "flat", "scheme": "bioes", "decoder": "softmax", "average": "sentences"},
    "classify-sst2-transformer": {"model": "encoder", "token": "cls"},
    "classify-sst5-transformer": {"model": "encoder", "token": "cls"},
}


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
