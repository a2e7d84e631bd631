"""What cards say, and that the hub can read it."""

import json
import re

import pytest
import torch
from tests import tiny_corpora
from tests.tiny_models import ENCODED, OTHERS

huggingface_hub = pytest.importorskip("huggingface_hub")

from huggingface_hub import ModelCard  # noqa: E402

from strukt.cli.main import main  # noqa: E402
from strukt.tasks import tag  # noqa: E402
from strukt.tasks.tag.model import Tagger  # noqa: E402
from strukt.train import saved_model  # noqa: E402
from strukt.train.model_card import Facts, command, model_card  # noqa: E402
from strukt.train.trial import Trial, run_trial  # noqa: E402

SENTENCES = tiny_corpora.trees(12)
METRICS = {"dev": {"epoch": 3, "step": 9, "loss": 0.5, "accuracy": 97.5}}
TRIAL = Trial(
    "Tiny: test", 1200, 24000, 8.0, {"accuracy": 91.237}, {"accuracy": (90.0, 92.5)}, "Abacus, 2 threads"
)


@pytest.fixture
def corpora(tmp_path):
    folder = tmp_path / "secret place"
    folder.mkdir()
    return {split: tiny_corpora.write(SENTENCES, folder / f"{split}.conllu") for split in ("train", "dev")}


@pytest.fixture
def model(corpora):
    torch.manual_seed(0)
    return Tagger.from_corpus(tiny_corpora.tag_config(**corpora), SENTENCES)


NOTHING = Facts()


def card(model, facts=NOTHING, metrics=METRICS):
    return model_card(model, metrics, {"torch": "2.6.1", "cpus": 4}, facts, "tiny-tagger")


def test_the_metadata_are_those_of_the_hub(model):
    facts = Facts("CC BY-SA 4.0", ["UD English EWT 2.17"], None, ["en"], TRIAL)
    data = ModelCard(str(card(model, facts))).data
    assert data.library_name == "strukt"
    assert data.license == "cc-by-sa-4.0"
    assert data.pipeline_tag == "token-classification"
    assert {"strukt", "tag"} <= set(data.tags)
    assert data.datasets == ["UD-English-EWT-2.17"]
    assert data.language == ["en"]
    [result] = data.eval_results
    assert (result.dataset_name, result.metric_type, result.metric_name) == (
        "Tiny: test",
        "accuracy",
        "accuracy",
    )
    assert result.metric_value == 91.24


def test_the_page_tells_data_metrics_speed_and_licence(model):
    text = str(card(model, Facts("mit", ["Tiny"], "CC0", [], TRIAL)))
    words = sum(map(len, SENTENCES))
    assert "Tiny. Licence of the data: CC0." in text
    assert f"| train | `train.conllu` | 12 | {words} |" in text
    assert "| accuracy | 91.24 | 90.00 to 92.50 |" in text
    assert "150 sentences, 3,000 words per second on Abacus, 2 threads" in text
    assert "in batches of up to 60 words, padding included." in text
    assert "On the development data, which chose the best epoch: accuracy 97.50." in text
    assert "| torch | 2.6.1 |" in text
    assert re.search(r"## Licence\n\nmit. Licence of the training data: CC0.", text)


@pytest.mark.parametrize("name", [*ENCODED, *OTHERS])
def test_every_task_has_a_card(name):
    model_class, config, sentences = (ENCODED | OTHERS)[name]
    page = str(card(model_class.from_corpus(config, sentences), metrics={}))
    encoder = getattr(config, "encoder", None)
    kind = getattr(encoder, "kind", encoder)
    assert f"A model of the task `{model_class.task}` of strukt" in page
    assert ("with an encoder of kind" in page) == (encoder is not None)
    assert kind is None or f"with an encoder of kind `{kind}`" in page


def test_models_of_counts_have_no_best_epoch(model):
    assert "On the development data: perplexity 9.00." in str(card(model, metrics={"dev": {"perplexity": 9.0}}))


def test_plain_text_of_pairs_has_a_tab(model, monkeypatch):
    assert "one sentence per line" in str(card(model))
    monkeypatch.setattr(type(model), "task", "nli")
    assert "Plain text has one pair of sentences per line, with a TAB" in str(card(model))


def test_what_is_not_known_is_not_made_up(model):
    found = card(model, metrics={})
    text = str(found)
    assert "It was not measured on test data." in text
    assert "Licence of the data: not stated" in text
    assert "not stated; ask the authors" in text
    assert "development data" not in text
    assert found.data.license is None
    assert found.data.eval_results is None


def test_what_was_noted_when_the_data_were_fetched(model, tmp_path):
    noted = {"name": "UD_Tiny", "version": "r2.17", "licence": "CC BY 4.0"}
    (tmp_path / "secret place" / "SOURCE.json").write_text(json.dumps(noted))
    text = str(card(model))
    assert "UD_Tiny r2.17. Licence of the data: CC BY 4.0." in text
    assert "UD_Tiny-r2.17" in text
    assert "CC0" in str(card(model, Facts(data_licence="CC0")))


def test_corpora_that_are_gone_are_not_counted(model):
    model.config.train = "/no/where/gone.conllu"
    assert "| train | `gone.conllu` | not known | not known |" in str(card(model))


def test_folders_are_nobodys_business(model):
    assert "secret" not in str(card(model, Facts("mit", [], None, [], TRIAL)))


def test_the_command_makes_the_same_configuration(model, monkeypatch):
    configuration = pytest.importorskip("strukt.cli.configuration")
    import shlex

    strukt, train, task, *options = shlex.split(command(model))
    assert (strukt, train, task) == ("strukt", "train", "tag")
    again = configuration.parse(task, options).config
    again.train, again.dev = model.config.train, model.config.dev
    assert again == model.config


def test_usual_options_are_left_out():
    from types import SimpleNamespace

    assert command(SimpleNamespace(task="tag", config=tag.Config(train="a"))) == "strukt train tag --train a"


def test_it_is_written_by_the_command(model, tmp_path, corpora, capsys):
    saved_model.save(model, tmp_path / "tiny", METRICS)
    page = tmp_path / "tiny" / "README.md"
    options = ["--test", corpora["dev"], "--test-name", "Tiny dev", "--licence", "mit", "--language", "en"]
    assert main(["card", str(tmp_path / "tiny"), *options, "-o", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("---\n")
    assert "# tiny\n" in text
    accuracy = run_trial(model, SENTENCES, "").scores["accuracy"]
    assert f"| accuracy | {accuracy:.2f} | " in text
    capsys.readouterr()
    assert main(["card", str(tmp_path / "tiny")]) == 0
    assert "It was not measured on test data." in capsys.readouterr().out
    assert page.read_text() == text


def test_wrong_files_are_named(model, tmp_path, capsys):
    saved_model.save(model, tmp_path / "tiny")
    assert main(["card", str(tmp_path / "tiny"), "--test", "none.conllu"]) == 2
    assert "none.conllu: there is no such file" in capsys.readouterr().err
    assert main(["card", str(tmp_path)]) == 2
    assert "is not a saved model" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--test-name", "--format"])
def test_options_of_the_test_corpus_need_one(option, tmp_path, capsys):
    assert main(["card", str(tmp_path), option, "conllu"]) == 2
    assert f"{option} describes the corpus of --test; give one, or omit it" in capsys.readouterr().err
