"""Saved models: moved, loaded, damaged."""

import json
import shutil

import pytest
import torch
from tests import tiny_corpora

from strukt.data import conllu
from strukt.errors import DataError
from strukt.tasks import lm
from strukt.tasks.dependency.model import Parser
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.tag.model import Tagger
from strukt.train import model_folder, saved_model

SENTENCES = tiny_corpora.trees(10)


@pytest.fixture(params=["tag", "dependency"])
def model(request):
    torch.manual_seed(0)
    if request.param == "tag":
        return Tagger.from_corpus(tiny_corpora.tag_config(criterion="crf"), SENTENCES)
    return Parser.from_corpus(tiny_corpora.dependency_config(), SENTENCES)


@pytest.fixture
def saved(model, tmp_path):
    saved_model.save(model, tmp_path / "model", {"dev": {"LAS": 1.0}})
    return tmp_path / "model"


def annotated(model):
    return [str(sentence) for sentence in model.predict(SENTENCES, probabilities=True)]


def test_a_moved_model_predicts_the_same(model, saved, tmp_path):
    shutil.move(saved, tmp_path / "elsewhere")
    loaded = saved_model.load(tmp_path / "elsewhere")
    assert annotated(loaded) == annotated(model)
    assert loaded.config == model.config
    assert loaded.vocabularies == model.vocabularies
    assert not loaded.training


def test_it_says_where_it_comes_from(saved):
    assert json.loads((saved / "metrics.json").read_text()) == {"dev": {"LAS": 1.0}}
    assert json.loads((saved / "environment.json").read_text())["torch"] == torch.__version__
    assert json.loads((saved / "format.json").read_text())["format"] == model_folder.FORMAT
    assert {path.suffix for path in saved.rglob("*") if path.is_file()} == {".json", ".safetensors"}


def test_weights_under_other_names_are_not_saved(model, saved):
    before = annotated(saved_model.load(saved))
    weights = model.state_dict()
    fewer = dict(list(weights.items())[1:])
    for wrong in (fewer, weights | {"more": torch.zeros(1)}):
        with pytest.raises(ValueError, match=r"^weights lacks names of the model's state_dict, or has others: "):
            saved_model.save(model, saved, weights=wrong)
    assert annotated(saved_model.load(saved)) == before


def test_other_weights_may_be_saved(model, tmp_path):
    zeros = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    saved_model.save(model, tmp_path, weights=zeros)
    assert not any(value.any() for value in saved_model.load(tmp_path).state_dict().values())


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_weights_of_another_type_are_saved_in_float32(dtype, model, tmp_path):
    saved_model.save(model.to(dtype), tmp_path)
    loaded = saved_model.load(tmp_path).state_dict()
    for name, value in model.state_dict().items():
        assert loaded[name].dtype == (torch.float32 if value.is_floating_point() else value.dtype)
        assert torch.equal(loaded[name], value.to(loaded[name].dtype))


def test_a_program_that_computes_in_float64_loads_a_model_as_it_is(model, saved, float64_by_default):
    loaded = saved_model.load(saved)
    assert torch.get_default_dtype() == torch.float64
    assert {value.dtype for value in loaded.parameters()} == {torch.float32}
    assert annotated(loaded) == annotated(model)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2e9])
def test_weights_that_could_not_be_loaded_are_not_saved(value, model, tmp_path):
    with torch.no_grad():
        next(model.parameters()).view(-1)[0] = value
    with pytest.raises(DataError, match=r"m: was not written: .* has (NaN|weights beyond)"):
        saved_model.save(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"model": "ngram"},  # whose states have no effect
        {"model": "lstm", "size": 2, "context": 1_000_000},
    ],
    ids=["without effect", "a limit"],
)
def test_options_that_need_no_weights_may_exceed_the_size_of_their_file(options, tmp_path):
    text = [conllu.from_forms(["oh"])]
    model = LanguageModel.from_corpus(lm.Config(**options), text)
    model.calibrate(text)
    saved_model.save(model, tmp_path)
    assert saved_model.load(tmp_path).evaluate(text) == model.eval().evaluate(text)


@pytest.mark.parametrize("model", ["tag"], indirect=True)
def test_a_newer_format_is_refused(saved):
    (saved / "format.json").write_text('{"format": 99, "strukt": "9.0"}')
    with pytest.raises(
        DataError, match=r"has format 99, but this strukt reads formats up to 1; install strukt 9.0"
    ):
        saved_model.load(saved)


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no such model folder"):
        saved_model.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"is not a saved model: it has no format.json"):
        saved_model.load(tmp_path)
