"""Exported models: the same scores, and the same structures, at every size."""

import copy
import pickle
import random
import resource
from functools import cache

import pytest
import torch
from tests import tiny_corpora
from tests.onnx.random_weights import with_random_weights

for package in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(package)

from strukt.data import conllu  # noqa: E402
from strukt.errors import DataError, MissingExtraError, SettingError  # noqa: E402
from strukt.nn.encoders import mask_of  # noqa: E402
from strukt.onnx.export import _calls, export  # noqa: E402
from strukt.tasks.common.encoder.config import TransformerConfig  # noqa: E402
from strukt.tasks.dependency.model import Parser  # noqa: E402
from strukt.tasks.tag.model import Tagger  # noqa: E402
from strukt.train import model_folder, saved_model  # noqa: E402

PHRASES = {"DT": "B-NP", "JJ": "I-NP", "NN": "I-NP", "VBZ": "O"}
SENTENCES = [
    sentence.annotated(upos=[PHRASES[tag] for tag in sentence.column("xpos")])
    for sentence in tiny_corpora.trees(30)
]
WORDS = [
    *tiny_corpora.NOUNS,
    *tiny_corpora.VERBS,
    *tiny_corpora.ADJECTIVES,
    *"a I of unheard-of 1984 x".split(),
]


def tagger(**encoder):
    config = tiny_corpora.tag_config(column="upos", criterion="crf", constraints="bio")
    return made(Tagger, config, encoder)


def parser(**encoder):
    return made(Parser, tiny_corpora.dependency_config(), encoder)


def made(kind, config, encoder):
    torch.manual_seed(0)
    for name, value in encoder.items():
        setattr(config.encoder, name, value)
    return with_random_weights(kind.from_corpus(config, SENTENCES))


PUBLISHED = {
    "kind": "transformer",
    "transformer": TransformerConfig(published=True, norm_first=False),
    "words": 48,
    "characters": "none",
    "affixes": 0,
    "normalise": False,
}
MODELS = {
    "tagger": lambda: tagger(layers=2),
    "parser": lambda: parser(layers=2),
    "one way, characters by LSTMs": lambda: tagger(kind="lstm", characters="lstm"),
    "transformer": lambda: tagger(kind="transformer", heads=4),
    "convolution": lambda: tagger(kind="convolution", layers=5),
    "published transformer": lambda: tagger(heads=4, **PUBLISHED),
    "words alone": lambda: tagger(kind="none", characters="none", affixes=0),
}
SLOW = [
    pytest.param(name, marks=pytest.mark.slow) for name in list(MODELS)[2:]
]  # PyTorch exports for 5 to 20 s


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """A model by its name in `MODELS`, and the folder to which it was exported."""

    @cache
    def made_once(name):
        model, folder = MODELS[name](), tmp_path_factory.mktemp("exported") / "model"
        export(model, folder, {"dev": {"LAS": 1.0}}, {"torch": "0.9"})
        return model, folder

    return made_once


@pytest.fixture(scope="module", params=["tagger", "parser", *SLOW])
def both(request, exports):
    """A model, and what is loaded of it after export."""
    model, folder = exports(request.param)
    return model, saved_model.load(folder)


def sentences(batch, n, generator):
    lengths = [n] + [generator.randint(1, n) for _ in range(batch - 1)]
    return [conllu.from_forms(generator.choices(WORDS, k=length)) for length in lengths]


def test_graphs_hold_no_paths_of_the_machine_that_exported_them(exports):
    _, folder = exports("tagger")
    graphs = list((folder / "onnx").iterdir())
    assert graphs
    assert not any(b".py" in graph.read_bytes() for graph in graphs)


@pytest.mark.thinned("n", "batch")
@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 30])
def test_scores_and_structures_are_those_of_the_model(both, batch, n):
    model, exported = both
    chosen = sentences(batch, n, random.Random(f"{batch}/{n}"))
    collated = model.collate(chosen, with_targets=False)
    with torch.no_grad():
        wanted = model.scores(collated.inputs, collated.lengths)
        found = exported.scores(collated.inputs, collated.lengths)
    inside = mask_of(collated.lengths, n)
    torch.testing.assert_close(found[0][inside], wanted[0][inside], atol=1e-4, rtol=0)
    assert list(map(str, exported.predict(chosen))) == list(map(str, model.predict(chosen)))


@pytest.mark.slow  # in CI tests/cli/test_export.py rounds a model
@pytest.mark.parametrize("name", ["parser", pytest.param("convolution", marks=pytest.mark.slow)])
def test_rounded_weights_are_smaller_and_scores_nearly_those_of_the_model(exports, tmp_path, name):
    model, folder = exports(name)
    export(model, tmp_path, precision="int8")
    graph, whole = (each / "onnx" / "scores.onnx" for each in (tmp_path, folder))
    assert graph.stat().st_size < 0.6 * whole.stat().st_size
    collated = model.collate(SENTENCES[:8], with_targets=False)
    with torch.no_grad():
        wanted = model.scores(collated.inputs, collated.lengths)[0]
        found = saved_model.load(tmp_path).scores(collated.inputs, collated.lengths)[0]
    assert torch.equal(found.isinf(), wanted.isinf())
    inside = mask_of(collated.lengths, wanted.shape[1])[:, :, None] & wanted.isfinite()
    assert 0 < (found - wanted)[inside].std() < 0.1 * wanted[inside].std()


def test_it_is_measured_and_drawn_as_any_model(both):
    model, exported = both
    assert exported.evaluate(SENTENCES) == model.evaluate(SENTENCES)
    assert list(exported.diagrams(SENTENCES[:2])) == list(model.diagrams(SENTENCES[:2]))
    wanted, found = (one.distribution(SENTENCES[:4]).marginals for one in (model, exported))
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)


def test_it_cannot_be_saved_or_exported_again(both, tmp_path):
    for write in (saved_model.save, export):
        with pytest.raises(SettingError, match="has no weights; take the one that it was exported from"):
            write(both[1], tmp_path / "again")


def test_it_is_pickled_and_copied(both):
    wanted = list(map(str, both[1].predict(SENTENCES[:4])))
    for again in (pickle.loads(pickle.dumps(both[1])), copy.deepcopy(both[1])):
        assert list(map(str, again.predict(SENTENCES[:4]))) == wanted


@pytest.fixture
def exported(exports):
    return exports("tagger")[1]


def test_the_model_stays_as_it_is():
    model = tagger()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    annotated = list(map(str, model.predict(SENTENCES)))
    _calls(model, (2, 1), 3)
    assert list(map(str, model.predict(SENTENCES))) == annotated
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert "scores" not in vars(model)


def test_graphs_compute_in_float32_whatever_the_type_of_the_weights(tmp_path):
    model = MODELS["words alone"]()
    export(copy.deepcopy(model).double(), tmp_path / "m")
    exported = saved_model.load(tmp_path / "m")
    assert exported.distribution(SENTENCES).scores[0].dtype == torch.float32
    assert list(map(str, exported.predict(SENTENCES))) == list(map(str, model.predict(SENTENCES)))


def test_the_folder_has_graphs_in_place_of_weights(exported):
    files = {str(path.relative_to(exported)) for path in exported.rglob("*") if path.is_file()}
    told = {f"{name}.json" for name in ("config", "vocabularies", "metrics", "environment", "examples", "format")}
    assert files == told | {"onnx/encoder.form_vectors.onnx", "onnx/scores.onnx"}
    assert (exported / "environment.json").read_text() == '{\n  "torch": "0.9"\n}\n'


def test_a_model_in_the_way_is_not_overwritten(exported):
    with pytest.raises(DataError, match="holds a model already"):
        export(tagger(), exported)


@pytest.mark.parametrize("content", [None, b"", b"not a graph"])
def test_damaged_and_missing_graphs_are_named(tmp_path, content):
    model = tagger()
    with model_folder.writing(model, tmp_path, None, None) as path:
        (path / "onnx").mkdir()
    if content is not None:
        (tmp_path / "onnx" / "encoder.form_vectors.onnx").write_bytes(content)
    with pytest.raises(DataError, match=r"form_vectors\.onnx: is (missing|damaged)"):
        saved_model.load(tmp_path)


def test_what_cannot_be_exported_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(SettingError, match=r"an encoder of kind pt cannot be exported; train a model with"):
        export(tagger(kind="pt"), tmp_path / "model")
    relative = TransformerConfig(positions="relative")
    with pytest.raises(SettingError, match="a Transformer with relative positions cannot be exported"):
        export(tagger(kind="transformer", heads=4, transformer=relative), tmp_path / "model")
    with pytest.raises(SettingError, match="precision is 'int4'; expected float32 or int8"):
        export(tagger(), tmp_path / "model", precision="int4")
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_an_interrupted_export_leaves_nothing_in_the_way(tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text("notes")
    written = []

    def interrupted(path, *_):
        written.append(path.exists())
        raise KeyboardInterrupt

    monkeypatch.setattr("strukt.onnx.export._round", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export(MODELS["words alone"](), tmp_path, precision="int8")
    assert written == [True]
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


@pytest.mark.slow
def test_a_full_disk_is_told_with_the_folder(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))  # room for descriptions, not for a graph
    try:
        with pytest.raises(DataError, match=r"model: cannot be written: "):
            export(tagger(), tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list((tmp_path / "model").iterdir()) == []


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxscript", None)
    with pytest.raises(MissingExtraError, match=r"'onnxscript' is not installed; .*strukt\[onnx\]"):
        export(tagger(), tmp_path)


def test_the_package_that_rounds_is_missed_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    monkeypatch.setattr("strukt.onnx.export._write", lambda *_: pytest.fail("a graph is written"))
    with pytest.raises(MissingExtraError, match="'onnxruntime' is not installed"):
        export(tagger(), tmp_path, precision="int8")
