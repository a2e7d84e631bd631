"""Models of many kinds learn to tag, are saved, and come back; what cannot be is told before that."""

import pytest
from tests import tiny_corpora

from strukt.errors import SettingError
from strukt.tasks.common.encoder.config import FineTuningConfig
from strukt.train import saved_model
from strukt.train.fit import fit

pytest.importorskip("transformers")
from tests import tiny_pretrained

SENTENCES = tiny_corpora.trees(12)
KINDS = [
    "t5",
    "bart",
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("albert", "xlm", "gpt2", "electra")),
]


def trained(kind, folder, **options):
    tiny_pretrained.save(kind, folder / "pretrained")
    config = tiny_corpora.tag_config()
    config.encoder.kind, config.encoder.pretrained = "pretrained", str(folder / "pretrained")
    config.encoder.fine_tuning = FineTuningConfig(**options)
    config.trainer.epochs = 1
    config.trainer.tokens = 200  # pieces, of which overlapping windows have many
    return fit("tag", config, folder / "model", train=SENTENCES, dev=SENTENCES)


@pytest.mark.parametrize("kind", KINDS)
def test_trained_saved_and_loaded(kind, tmp_path):
    scores = trained(kind, tmp_path)["dev"]
    assert saved_model.load(tmp_path / "model").evaluate(SENTENCES)["accuracy"] == scores["accuracy"]


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("albert", {"frozen": 1}, "frozen is 1; expected 0: the layers .* share their weights"),
        ("albert", {"decay": 0.5}, "decay is 0.5; expected 1: the layers .* share their weights"),
        ("xlm", {"recompute": True}, "recompute is true; expected false: XLMModel"),
        ("reformer", {}, "cannot read a sentence: it has no vector of size 8 for each piece"),
    ],
)
def test_what_cannot_be_is_told_before_the_training(kind, options, reason, tmp_path):
    with pytest.raises(SettingError, match=reason) as caught:
        trained(kind, tmp_path, **options)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("model/training/step-*"))
