"""Labels that no corpus could have given a model: one line that names them, exit code 2, for every command."""

import io
import json
import re
import shutil
import warnings

import pytest
import torch
from tests import tiny_corpora
from tests.data.logical_forms import random_logical_forms

from strukt.cli.main import main
from strukt.data import conllu, listops
from strukt.data.classes import labelled
from strukt.tasks import classify, cogs, sort
from strukt.tasks import listops as listops_task
from strukt.tasks.classify.model import Classifier
from strukt.tasks.cogs.model import SemanticParser
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.dependency.model import Parser
from strukt.tasks.listops.model import ListModel
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.sort.model import Sorter
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model

TREES = tiny_corpora.trees(6)
CLASSES = list(labelled.read(io.BytesIO(b"good\ta film\nbad\tno film\n")))
LISTS = list(listops.read(io.BytesIO(b"1\t[MIN 1 [MAX 2 3 4 ] ]\n")))
NUMBERS = [conllu.from_forms(["1", "2", "0"])]
MODELS = {
    "tag": (Tagger, tiny_corpora.tag_config(), TREES),
    "dependency": (Parser, tiny_corpora.dependency_config(), TREES),
    "constituency": (ConstituencyParser, tiny_corpora.constituency_config(), tiny_corpora.phrases(8)),
    "ner": (EntityModel, tiny_corpora.ner_config(), tiny_corpora.nested(8)),
    "classify": (Classifier, tiny_corpora.small(classify.Config()), CLASSES),
    "listops": (ListModel, tiny_corpora.small(listops_task.Config(arc_size=8, size=8)), LISTS),
    "cogs": (
        SemanticParser,
        tiny_corpora.small(cogs.Config()),
        random_logical_forms.read(random_logical_forms.lines(6, depth=1)),
    ),
    "sort": (Sorter, sort.Config(size=4), NUMBERS),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of each model; each is made once."""
    folder = tmp_path_factory.mktemp("labels")

    def save(task):
        if not (folder / task).exists():
            kind, config, sentences = MODELS[task]
            torch.manual_seed(0)
            saved_model.save(kind.from_corpus(config, sentences), folder / task)
        return folder / task

    return save


def changed(whole, folder, vocabulary, change):
    shutil.copytree(whole, folder)
    path = folder / "vocabularies.json"
    content = json.loads(path.read_text())
    content[vocabulary] = change(content[vocabulary])
    path.write_text(json.dumps(content))
    return folder


def last(symbol):
    return lambda symbols: [*symbols[:-1], symbol]


WRONG = [
    *((task, "labels", symbol) for task in ("tag", "dependency", "classify") for symbol in ("case\t", "")),
    *(("constituency", "labels", symbol) for symbol in ("NP\t", "NP  VP", "N)P", " ")),
    *(("constituency", "tags", symbol) for symbol in ("", "N\t")),
    *(("ner", "labels", symbol) for symbol in ("PER\t", "\tPER", "PER\t\tLOC")),
    *(("listops", "labels", symbol) for symbol in ("x", "", "1.5")),
    *(("sort", "symbols", symbol) for symbol in ("x", "", "-1")),
    *(("cogs", "parent", symbol) for symbol in ("x", "", "1.5")),
    *(("cogs", "role", symbol) for symbol in ("a\tb", "")),
]


@pytest.mark.parametrize(("task", "vocabulary", "symbol"), WRONG)
def test_symbols_that_no_corpus_could_have(task, vocabulary, symbol, saved, tmp_path, capsys):
    _, config, sentences = MODELS[task]
    folder = changed(saved(task), tmp_path / "model", vocabulary, last(symbol))
    corpus = tiny_corpora.write(sentences[:1], tmp_path / "corpus")
    assert main(["predict", str(folder), corpus, "--format", next(iter(config.readers))]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"({vocabulary} has a symbol that no corpus can have: " in err


@pytest.mark.parametrize(
    ("task", "vocabulary"),
    [(task, "labels") for task in MODELS if task not in ("cogs", "sort")]
    + [("constituency", "tags"), ("cogs", "verb"), ("sort", "symbols")],
)
def test_no_symbols(task, vocabulary, saved, tmp_path, capsys):
    folder = changed(saved(task), tmp_path / "model", vocabulary, lambda _: [])
    with warnings.catch_warnings():
        warnings.simplefilter("always")  # PyTorch would warn of layers without numbers
        assert main(["show", str(folder), "a"]) == 2
    err = capsys.readouterr().err
    assert f"({vocabulary} is empty; expected at least one symbol)" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("top", ["NP", "ROOT\t", "(", "S)"])
def test_labels_of_the_top(top, saved, tmp_path, capsys):
    folder = changed(saved("constituency"), tmp_path / "model", "top", lambda _: [top])
    assert main(["show", str(folder), "a"]) == 2
    assert "(the vocabulary top has labels other than ROOT, TOP, S1)" in capsys.readouterr().err


@pytest.mark.parametrize("task", MODELS)
def test_the_symbols_of_a_corpus_are_fine(task, saved):
    model = saved_model.load(saved(task))
    assert model.outputs
    for name, form in model.outputs.items():
        assert isinstance(form, re.Pattern)
        assert len(model.vocabularies[name]) > 0
