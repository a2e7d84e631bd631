"""Models that were saved before some options existed are what they were."""

import dataclasses
import json

import pytest
import torch
from tests import tiny_corpora

from strukt.tasks.common.encoder.config import EncoderConfig, MeanFieldConfig
from strukt.tasks.common.ranges import require_possible
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model

SENTENCES = tiny_corpora.trees(10)

LATER = {"label_scores", "penalised", "root_output", "shared", "weighted_start"}
"""Options of Probabilistic Transformers that the first models did not have."""


@pytest.mark.parametrize(
    "options",
    [
        MeanFieldConfig(rank=3),
        MeanFieldConfig(rank=3, decomposition="weighted"),
        MeanFieldConfig(rank=3, label_weight=0.5),
    ],
)
def test_a_probabilistic_transformer_without_later_options(options, tmp_path):
    torch.manual_seed(0)
    config = tiny_corpora.tag_config()
    as_earlier = {
        "shared": True,
        "weighted_start": True,
        "root_output": "probabilities",
        "penalised": "squares",
    }
    config.encoder.kind, config.encoder.pt = "pt", dataclasses.replace(options, **as_earlier)
    require_possible(config)
    model = Tagger.from_corpus(config, SENTENCES)
    saved_model.save(model, tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    assert saved["options"]["encoder"]["pt"].keys() >= LATER
    for name in LATER:
        del saved["options"]["encoder"]["pt"][name]
    (tmp_path / "config.json").write_text(json.dumps(saved))
    loaded = saved_model.load(tmp_path)
    assert loaded.config == config
    assert [str(one) for one in loaded.predict(SENTENCES, True)] == [
        str(one) for one in model.predict(SENTENCES, True)
    ]


@pytest.mark.parametrize("kind", ["pt", "transformer"])
def test_models_saved_before_there_was_a_published_transformer(kind, tmp_path):
    """The others are what they were, and published models may have counted words by any count."""
    config = tiny_corpora.tag_config()
    config.encoder = EncoderConfig(kind, hidden=8, heads=2, minimum_count=3, pt=MeanFieldConfig(kind == "pt"))
    model = Tagger.from_corpus(config, SENTENCES)
    saved_model.save(model, tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    del saved["options"]["encoder"]["transformer"]["published"]
    (tmp_path / "config.json").write_text(json.dumps(saved))
    loaded = saved_model.load(tmp_path)
    assert loaded.config == config
    assert list(map(str, loaded.predict(SENTENCES))) == list(map(str, model.predict(SENTENCES)))
