"""Saved models with their cards: in folders, pushed to a server, and loaded from there."""

import json

import pytest
import torch
from tests import tiny_corpora
from tests.train import local_hub

import strukt
from strukt.cli.main import main
from strukt.errors import DataError
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model

huggingface_hub = pytest.importorskip("huggingface_hub")

from strukt.train.hub import HubModel  # noqa: E402
from strukt.train.hub_download import FILES  # noqa: E402

SENTENCES = tiny_corpora.trees(10)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Tagger.from_corpus(tiny_corpora.tag_config(criterion="crf"), SENTENCES)


@pytest.fixture
def saved(model, tmp_path):
    saved_model.save(
        model, tmp_path / "model", {"dev": {"LAS": 1.0}}, environment={"torch": "0.9", "strukt": "0.1"}
    )
    (tmp_path / "model" / "training").mkdir()
    (tmp_path / "model" / "training" / "lock").write_text("not to be shared")
    return tmp_path / "model"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with local_hub.serving() as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address)
        monkeypatch.setattr(
            "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
            hub.address + "/{repo_id}/resolve/{revision}/{filename}",
        )
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
        yield hub


def annotated(model):
    return [str(sentence) for sentence in model.predict(SENTENCES, probabilities=True)]


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "training" not in path.parts
    }


def test_what_is_saved_is_the_folder_and_a_card(model, saved, tmp_path):
    shared = HubModel.of_folder(saved)
    shared.save_pretrained(tmp_path / "copy")
    copy = content(tmp_path / "copy")
    assert copy.pop("README.md").startswith(b"---\n")
    assert copy == content(saved)
    again = HubModel.from_pretrained(tmp_path / "copy")
    assert annotated(again.model) == annotated(model)
    assert again.metrics == {"dev": {"LAS": 1.0}}
    assert again.environment == {"torch": "0.9", "strukt": "0.1"}


def test_a_folder_may_be_saved_into_itself(model, saved):
    before = content(saved)
    HubModel.from_pretrained(saved).save_pretrained(saved)
    after = content(saved)
    assert after.pop("README.md")
    assert after == before


def test_a_model_that_was_never_saved(model, tmp_path):
    HubModel(model).save_pretrained(tmp_path)
    assert annotated(saved_model.load(tmp_path)) == annotated(model)
    assert json.loads((tmp_path / "environment.json").read_text())["torch"] == torch.__version__


def test_a_card_that_was_written_goes_along(saved, tmp_path):
    (saved / "README.md").write_text("---\nlicense: mit\n---\n\n# Mine\n")
    HubModel.of_folder(saved).save_pretrained(tmp_path / "copy")
    assert (tmp_path / "copy" / "README.md").read_text().strip() == "---\nlicense: mit\n---\n\n# Mine"


def test_what_is_pushed_is_what_is_loaded(model, saved, hub, capsys):
    assert main(["push", str(saved), "me/model", "--private"]) == 0
    assert capsys.readouterr().out.startswith(hub.address)
    pushed = dict(hub.files["me/model"])
    assert "# model" in pushed.pop("README.md").decode()
    assert pushed == content(saved)
    assert hub.private["me/model"] is True
    loaded = strukt.load("hf://me/model")
    assert annotated(loaded) == annotated(model)
    assert annotated(HubModel.from_pretrained("me/model").model) == annotated(model)


def test_what_is_in_the_cache_needs_no_hub(model, saved, hub, monkeypatch):
    assert main(["push", str(saved), "me/model"]) == 0
    assert hub.private["me/model"] is False
    strukt.load("hf://me/model")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert annotated(strukt.load("hf://me/model")) == annotated(model)


def test_commands_that_read_the_folder_take_a_name_on_the_hub(saved, hub, tmp_path, capsys):
    assert main(["push", str(saved), "me/model"]) == 0
    corpus = tiny_corpora.write(SENTENCES, tmp_path / "dev.conllu")
    capsys.readouterr()
    assert main(["card", "hf://me/model"]) == 0
    assert "\n# model\n" in capsys.readouterr().out
    assert main(["evaluate", "hf://me/model", corpus]) == 0
    assert main(["predict", "hf://me/model", corpus, "-o", f"{tmp_path}/predicted/"]) == 0
    assert list((tmp_path / "predicted").glob("*.conllu"))
    capsys.readouterr()
    assert main(["show", "hf://me/model", "--history", "LAS"]) == 2  # a model that was not trained has none
    assert "hf:" not in capsys.readouterr().err


def test_only_files_of_models_are_fetched(saved, hub):
    assert main(["push", str(saved), "me/model"]) == 0
    hub.files["me/model"]["weights.pickle"] = b"evil"
    hub.files["me/model"]["setup.py"] = b"evil"
    strukt.load("hf://me/model@main")
    fetched = {request.rpartition("/")[2] for request in hub.requests if "/resolve/" in request}
    assert {"config.json", "weights.safetensors", "README.md"} <= fetched <= set(FILES)


@pytest.mark.parametrize("name", ["hf://me/nothing", "hf://not a name", "hf://"])
def test_a_model_that_the_hub_does_not_have(name, hub, tmp_path, capsys):
    with pytest.raises(DataError, match="cannot be fetched from the hub"):
        strukt.load(name)
    assert main(["predict", name, str(tmp_path)]) == 2
    assert "\n" not in capsys.readouterr().err.strip()


def test_a_hub_that_refuses(saved, hub, monkeypatch, capsys):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address + "/elsewhere")
    assert main(["push", str(saved), "me/model"]) == 2
    error = capsys.readouterr().err
    assert "cannot be pushed to me/model" in error
    assert "hf auth login" in error


def test_what_is_no_model_is_not_pushed(tmp_path, hub, capsys):
    assert main(["push", str(tmp_path), "me/model"]) == 2
    assert "is not a saved model" in capsys.readouterr().err
    assert hub.requests == []
