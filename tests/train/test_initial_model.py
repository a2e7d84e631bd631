"""Training that starts from a saved model: which models, with which options, on which text."""

import copy
import warnings

import pytest
import torch
from tests import tiny_corpora
from tests.tiny_models import ENCODED, OTHERS, TREES

from strukt.cli.configuration import parse
from strukt.data import conllu
from strukt.errors import DataError, SettingError, StruktError
from strukt.tasks import lm
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model
from strukt.train.fit import fit
from strukt.train.initial_model import begin_from, require_same_options

MODELS = ENCODED | OTHERS
DEV = tiny_corpora.trees(10, seed=1)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """The folder of a trained tagger."""
    folder = tmp_path_factory.mktemp("tagger") / "model"
    fit("tag", tiny_corpora.tag_config(), folder, train=TREES, dev=DEV)
    return folder


def options(**trainer):
    config = tiny_corpora.tag_config()
    for name, value in trainer.items():
        setattr(config.trainer, name, value)
    return config


@pytest.mark.parametrize("name", MODELS)
def test_models_of_all_tasks_go_on_with_their_weights_and_vocabularies(name, tmp_path):
    kind, config, sentences = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a grammar leaves sentences of one word out
        trainable = kind.trainable(config, sentences)
    saved = kind.from_corpus(config, trainable)
    saved_model.save(saved, tmp_path)
    later = copy.deepcopy(config)
    later.trainer.epochs, later.optimizer.learning_rate = 7, 1e-5
    require_same_options(tmp_path, saved.task, later)
    model, known = begin_from(tmp_path, later, trainable)
    assert list(known) == list(trainable)
    assert model.config is later
    assert model.vocabularies == saved.vocabularies
    for parameter, value in model.state_dict().items():
        assert torch.equal(value, saved.state_dict()[parameter]), parameter
    model.train()
    model.loss(model.collate(list(known)[:3])).backward()


def test_a_run_begins_where_the_model_ended(tagger, tmp_path):
    unseen = conllu.from_forms(["new", "words"]).annotated(xpos=["DT", "NN"])
    corpus = [*TREES, unseen]
    config = options(epochs=1)
    config.optimizer.learning_rate = 1e-9
    results = fit("tag", config, tmp_path / "same", train=corpus, dev=DEV, initial_model=tagger)
    assert results["dev"]["accuracy"] == saved_model.load(tagger).evaluate(DEV)["accuracy"] == 100
    before, after = (saved_model.load(folder).state_dict() for folder in (tagger, tmp_path / "same"))
    for name, weight in before.items():
        torch.testing.assert_close(after[name], weight, atol=1e-6, rtol=0)
    assert saved_model.load(tmp_path / "same").config == config


def test_sentences_with_other_labels_are_left_out(tagger, tmp_path):
    other = conllu.from_forms(["wow"]).annotated(xpos=["UH"])
    with pytest.warns(UserWarning, match="2 of 32 sentences have labels that the initial model does not predict"):
        _, known = begin_from(tagger, options(), [other, *TREES, other])
    assert known == TREES
    with pytest.raises(DataError, match=r"has no sentence whose labels the model in .* predicts"):
        begin_from(tagger, options(), [other])


def test_a_run_that_was_interrupted_knows_its_initial_model(tagger, tmp_path):
    folder, changed = tmp_path / "run", tmp_path / "changed"
    fit("tag", options(epochs=3, max_minutes=1e-6), folder, train=TREES, dev=DEV, initial_model=tagger)
    saved_model.save(Tagger.from_corpus(options(), TREES), changed)
    with pytest.raises(StruktError, match=r"cannot resume: the model of --initial_model has changed"):
        fit("tag", options(epochs=3), folder, resume=True, train=TREES, dev=DEV, initial_model=changed)
    results = fit("tag", options(epochs=3), folder, resume=True, train=TREES, dev=DEV, initial_model=tagger)
    assert results["history"][-1]["epoch"] == 3


def test_options_of_the_model_cannot_change(tagger):
    config = options(epochs=2)
    config.encoder.hidden += 1
    with pytest.raises(SettingError, match=r"--encoder\.hidden is 25, but 24 in the initial model .*; omit the"):
        require_same_options(tagger, "tag", config)


def test_what_cannot_be_trained_further_is_refused(tagger, tmp_path):
    with pytest.raises(StruktError, match="is a model of the task tag; expected an initial model for dependency"):
        require_same_options(tagger, "dependency", tiny_corpora.dependency_config())
    with pytest.raises(DataError, match="there is no such model folder"):
        require_same_options(tmp_path / "nowhere", "tag", options())
    counts = LanguageModel.from_corpus(lm.Config(model="ngram"), TREES)
    saved_model.save(counts, tmp_path)
    with pytest.raises(SettingError, match="has no weights to start from; omit --initial_model"):
        begin_from(tmp_path, counts.config, TREES)
    (tmp_path / "weights.safetensors").unlink()
    with pytest.raises(DataError, match="has no weights to train; start from the model that was exported"):
        require_same_options(tmp_path, "lm", counts.config)


def test_its_options_are_the_defaults_of_the_command_line(tagger):
    order = parse("tag", ["--train", "a", "--initial_model", str(tagger), "--trainer.epochs", "2"])
    expected = options(epochs=2)
    expected.train = "a"
    assert order.config == expected
    assert order.initial_model == str(tagger)
    assert parse("tag", [f"--initial_model={tagger}"]).config == options()


def test_a_file_of_options_may_name_the_model_whose_options_are_the_defaults(tagger, tmp_path):
    file = tmp_path / "options.yaml"
    file.write_text(f"initial_model: {tagger}\ntrainer:\n  epochs: 2\n")
    expected = parse("tag", ["--initial_model", str(tagger), "--trainer.epochs", "2"])
    assert parse("tag", ["--config", str(file)]) == expected
