"""Models of weights that are large, though not too large to be loaded: one line that blames them, exit code 2."""

import shutil
from collections import defaultdict

import pytest
import torch
from tests import tiny_corpora

from strukt.cli.main import main
from strukt.data import conllu
from strukt.errors import InfeasibleError, OutOfRangeError, SettingError
from strukt.tasks import count, lm
from strukt.tasks.common.scores import ScoresError, usable_scores
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.count.model import ChunkCounter
from strukt.tasks.dependency.model import Parser
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model

BLAME = "its weights are likely those of a training that diverged; train it again with a lower"
TREES = tiny_corpora.trees(6)
SIZES = {"states": 4, "rank": 4, "size": 4, "nonterminals": 3, "preterminals": 3, "heads": 2}


def language_model(kind, sentences=TREES):
    return LanguageModel, lm.Config(model=kind, **SIZES), sentences


MODELS = {
    "dependency": (Parser, tiny_corpora.dependency_config(), TREES),
    "sparse": (Parser, tiny_corpora.dependency_config(criterion="sparsemap"), TREES),
    "constituency": (ConstituencyParser, tiny_corpora.constituency_config(), tiny_corpora.phrases(6)),
    "codes": (EntityModel, tiny_corpora.ner_config(criterion="bits"), tiny_corpora.nested(8)),
    "hmm": language_model("hmm"),
    "transformer": language_model("transformer"),
    "pcfg": language_model("pcfg", tiny_corpora.phrases(2)),
    "count": (
        ChunkCounter,
        count.Config(size=8, encoder="transformer", heads=2),
        [conllu.from_forms(["0", "1", "1", "0"]), conllu.from_forms(["1"])],
    ),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Folder and corpus of each model; each model is made once."""
    folder, found = tmp_path_factory.mktemp("large"), {}

    def save(name):
        if name not in found:
            kind, config, sentences = MODELS[name]
            torch.manual_seed(0)
            model = kind.from_corpus(config, sentences)
            saved_model.save(model, folder / name)
            found[name] = folder / name, tiny_corpora.write(sentences[:2], folder / f"{name}.{ENDINGS[kind]}")
        return found[name]

    return save


ENDINGS = defaultdict(lambda: "conllu", {ConstituencyParser: "ptb", EntityModel: "jsonl"})


@pytest.fixture
def refused(saved, tmp_path, capsys):
    """Says in which one line a command refuses a model whose weights were changed."""

    def run(name, change, command, *options):
        whole, corpus = saved(name)
        folder = shutil.copytree(whole, tmp_path / "model")
        model = saved_model.load(folder)
        torch.manual_seed(1)
        with torch.no_grad():
            for parameter, weights in model.named_parameters():
                change(parameter, weights)
        saved_model.save(model, folder)
        read = {"show": ["A cat sees a dog ."], "generate": []}.get(command, [corpus])
        capsys.readouterr()
        assert main([command, str(folder), *read, *options]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert BLAME in err
        return err

    return run


def fill(parameter, weights):
    weights.fill_(1e4)


def randomise(size):
    def change(parameter, weights):
        weights.normal_(0.0, size).clamp_(-9e8, 9e8)

    return change


def enlarge_arcs(parameter, weights):
    if parameter.startswith("arc"):
        weights.normal_().mul_(1e8)


@pytest.mark.parametrize("command", ["predict", "evaluate", "show"])
@pytest.mark.parametrize("change", [fill, enlarge_arcs])
def test_a_parser(command, change, refused):
    assert "(arcs holds " in refused("dependency", change, command)


def test_the_few_trees_of_a_parser(refused):
    refused("sparse", fill, "show", "--structures")


@pytest.mark.parametrize("command", ["predict", "evaluate", "show"])
def test_scores_so_small_that_they_forbid(command, refused):
    error = refused("constituency", randomise(1e5), command)
    assert "they rule out every structure of a text); leave the text out; if every text is refused" in error


def test_probabilities_that_are_none(refused):
    error = refused("codes", randomise(3e8), "predict", "--probabilities")
    assert "(they give probabilities that are NaN)" in error


@pytest.mark.parametrize("command", ["predict", "evaluate", "show", "generate"])
@pytest.mark.parametrize("name", ["hmm", "transformer"])
def test_a_language_model(name, command, refused):
    refused(name, randomise(3e8), command)


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_numbers_that_are_none(command, refused):
    refused("count", randomise(3e8), command)


@pytest.mark.parametrize("size", [1e5, 3e8])
def test_sentences_of_a_grammar(size, refused):
    refused("pcfg", randomise(size), "generate")


def test_a_grammar_whose_sentences_never_begin(saved, monkeypatch):
    model = saved_model.load(saved("pcfg")[0])
    monkeypatch.setattr("strukt.tasks.lm.texts.pcfg._drawn", lambda _: 0)  # nonterminals alone
    with pytest.raises(ScoresError, match="a sentence needs more than 10,000 rules for its next word"):
        model.generate(1, 5)


def test_a_text_for_which_constraints_leave_nothing_may_be_left_out():
    tagged = [conllu.from_forms(["Ada", "Lovelace"]).annotated(xpos=["B-PER", "E-PER"])]
    config = tiny_corpora.tag_config(criterion="crf", constraints="bioes")
    model = Tagger.from_corpus(config, tagged)
    with pytest.raises(ScoresError, match="they rule out every structure of a text\\); leave the text out"):
        list(model.predict("Ada"))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OutOfRangeError("x holds inf; expected less"), "x holds inf"),
        (OverflowError("cannot convert float infinity"), "cannot convert float infinity"),
        (InfeasibleError("every structure is forbidden"), "they rule out every structure of a text"),
    ],
)
def test_what_scores_are_blamed_for(error, reason):
    with pytest.raises(ScoresError) as caught, usable_scores():
        raise error
    assert (caught.value.reason, caught.value.__cause__) == (reason, error)


@pytest.mark.parametrize(
    "error", [SettingError("no such option"), RuntimeError("out of memory"), ValueError("a bug")]
)
def test_what_they_are_not_blamed_for(error):
    with pytest.raises(type(error)) as caught, usable_scores():
        raise error
    assert caught.value is error
