"""Tasks on top of a Hugging Face model, from its folder to a saved model that no longer needs it."""

import copy
import shutil
import signal

import pytest
import torch
from tests import children, tiny_corpora

from strukt.data import conllu
from strukt.errors import DataError
from strukt.tasks.common.encoder.config import FineTuningConfig
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model
from strukt.train.checkpoints import flatten_optimizer, restore_optimizer
from strukt.train.fit import fit
from strukt.train.training import Training

pytest.importorskip("transformers")
from tests import tiny_pretrained

SENTENCES = tiny_corpora.trees(12)


@pytest.fixture
def folder(tmp_path):
    tiny_pretrained.save("bert", tmp_path / "pretrained")
    return tmp_path / "pretrained"


TASKS = {
    "tag": (tiny_corpora.tag_config(), SENTENCES),
    "dependency": (tiny_corpora.dependency_config(), SENTENCES),
    "constituency": (tiny_corpora.constituency_config(), tiny_corpora.phrases(8)),
    "ner": (tiny_corpora.ner_config(criterion="bits", bits=4), tiny_corpora.nested(8)),
}


@pytest.mark.parametrize("task", TASKS)
def test_trained_saved_moved_and_loaded_without_its_source(task, folder, tmp_path, monkeypatch):
    config, sentences = copy.deepcopy(TASKS[task])
    config.encoder.kind, config.encoder.pretrained, config.trainer.epochs = "pretrained", str(folder), 2
    config.trainer.tokens = 200  # pieces, of which overlapping windows have many
    results = fit(task, config, tmp_path / "m", train=sentences, dev=sentences)
    shutil.rmtree(folder)
    shutil.move(tmp_path / "m", tmp_path / "moved")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    loaded = saved_model.load(tmp_path / "moved")
    scores = loaded.evaluate(sentences)
    assert {name: results["dev"][name] for name in scores} == scores
    assert len(list(loaded.predict(sentences))) == len(sentences)


def test_the_pretrained_weights_are_where_training_begins(folder):
    from strukt.nn.pretrained import PretrainedEncoder

    config = tiny_corpora.tag_config()
    config.encoder.kind, config.encoder.pretrained = "pretrained", str(folder)
    model = Tagger.from_corpus(config, SENTENCES)
    expected = PretrainedEncoder.load(folder).model.state_dict()
    found = model.encoder.words.model.state_dict()
    assert found.keys() == expected.keys()
    assert all((found[name] == expected[name]).all() for name in expected)


def tuned(folder, **options):
    config = tiny_corpora.tag_config()
    config.encoder.kind, config.encoder.pretrained, config.trainer.epochs = "pretrained", str(folder), 2
    config.trainer.tokens = 200  # pieces, of which overlapping windows have many
    config.encoder.fine_tuning = FineTuningConfig(**options)
    return config


@pytest.mark.parametrize(
    "options", [{"lora": 2, "frozen": 1}, {"rate": 0.0}, {"rate": 0.5, "decay": 0.1, "recompute": True}]
)
def test_only_what_is_to_learn_learns_and_all_is_saved(options, folder, tmp_path):
    from strukt.nn.pretrained import PretrainedEncoder

    before = PretrainedEncoder.load(folder).model.state_dict()
    fit("tag", tuned(folder, **options), tmp_path / "m", train=SENTENCES, dev=SENTENCES)
    model = saved_model.load(tmp_path / "m")
    after = {
        name.replace("base_model.model.", "").replace("base_layer.", ""): value
        for name, value in model.encoder.words.model.state_dict().items()
    }
    moved = {name for name, value in before.items() if not torch.equal(after[name], value)}
    if options.get("rate"):
        distance = {name: (after[name] - before[name]).abs().max() for name in before}
        low, high = (f"encoder.layer.{layer}.output.dense.weight" for layer in (0, 1))
        assert 0 < distance[low] < 0.3 * distance[high]
    else:
        assert not moved
    adapters = [value for name, value in after.items() if "lora_B" in name]
    assert bool(adapters) == ("lora" in options)
    assert any(value.any() for value in adapters) or not adapters
    assert len(list(model.predict(SENTENCES))) == len(SENTENCES)


@pytest.mark.slow  # it trains twice; tests/faults does the same with other encoders
def test_a_killed_training_is_resumed_to_the_same_bits(folder, tmp_path):
    config = tuned(folder)
    config.train = config.dev = tiny_corpora.write(SENTENCES, tmp_path / "corpus.conllu")
    fit("tag", config, tmp_path / "whole")
    assert children.train("tag", config, tmp_path / "m", at_step=5) == -signal.SIGKILL
    fit("tag", config, tmp_path / "m", resume=True)
    whole, resumed = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("whole", "m"))
    assert whole == resumed


def test_sentences_of_too_many_pieces_are_set_apart_and_the_model_knows_nothing_of_them(folder, tmp_path):
    """One word, but more pieces than a batch may have."""
    long = conllu.from_forms(["abcdefghij" * 9]).annotated(xpos=["ODD"])
    config = tuned(folder)
    config.trainer.epochs, config.trainer.tokens = 1, 100
    with pytest.warns(
        UserWarning, match="1 of 13 sentences have more than 100 word pieces and are set aside"
    ):
        fit("tag", config, tmp_path / "m", train=[long, *SENTENCES], dev=SENTENCES)
    model = saved_model.load(tmp_path / "m")
    assert "ODD" not in model.vocabularies["labels"]
    assert len(list(model.predict([long, *SENTENCES]))) == 13


def test_a_corpus_of_long_sentences_alone_is_refused(folder, tmp_path):
    config = tuned(folder)
    config.trainer.tokens = 3
    with (
        pytest.warns(UserWarning, match="more than 3 word pieces"),
        pytest.raises(
            DataError, match=r"no sentence of at most 3 word pieces \(trainer\.tokens\) to train on"
        ),
    ):
        fit("tag", config, tmp_path / "m", train=SENTENCES, dev=SENTENCES)


def test_layers_of_several_rates_are_groups_whose_state_is_found_again(folder):
    model = Tagger.from_corpus(tuned(folder, decay=0.5), SENTENCES)
    trainings = [Training(model, SENTENCES).configure_optimizers() for _ in range(2)]
    assert sorted(group["share"] for group in trainings[0].param_groups) == pytest.approx([0.025, 0.05, 0.1, 1.0])
    parameters = [parameter for group in trainings[0].param_groups for parameter in group["params"]]
    assert {id(p) for p in parameters} == {id(p) for p in model.parameters() if p.requires_grad}
    model.loss(model.collate(SENTENCES)).backward()
    trainings[0].step()
    restore_optimizer(trainings[1], flatten_optimizer(trainings[0]))
    for parameter, state in trainings[0].state.items():
        assert torch.equal(trainings[1].state[parameter]["exp_avg"], state["exp_avg"])


def test_a_damaged_tokenizer_is_named(folder, tmp_path):
    config = tiny_corpora.tag_config()
    config.encoder.kind, config.encoder.pretrained = "pretrained", str(folder)
    saved_model.save(Tagger.from_corpus(config, SENTENCES), tmp_path / "m")
    (tmp_path / "m" / "encoder" / "tokenizer.json").write_text("{")
    with pytest.raises(DataError, match="encoder"):
        saved_model.load(tmp_path / "m")
