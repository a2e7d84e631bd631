"""Pictures from the command line."""

import html
import io
import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from tests import tiny_corpora
from tests.viz.test_html import Page

from strukt.cli.main import main
from strukt.data import conllu
from strukt.data.conllu import sentence_labels
from strukt.tasks import classify
from strukt.tasks.classify.model import Classifier
from strukt.tasks.dependency.model import Parser
from strukt.train import saved_model
from strukt.viz.sentences import diagram_of

SENTENCES = tiny_corpora.trees(6)


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """The folder of a parser with SparseMAP and random weights."""
    folder = tmp_path_factory.mktemp("sparse") / "model"
    torch.manual_seed(0)
    model = Parser.from_corpus(tiny_corpora.dependency_config(criterion="sparsemap"), SENTENCES)
    torch.nn.init.normal_(model.arc_score.weight, std=0.3)
    saved_model.save(model, folder)
    return str(folder)


def test_a_tree_in_the_terminal(parser, capsys):
    assert main(["show", parser, "total = price * tax"]) == 0
    out, err = capsys.readouterr()
    assert out.count("▼") == 5
    assert out.splitlines()[-1].split() == ["total", "=", "price", "*", "tax"]
    assert err == ""
    assert "\x1b" not in out


def test_tags_in_the_terminal(tagger, capsys):
    assert main(["show", tagger, "total", "=", "price"]) == 0
    words, tags = capsys.readouterr().out.splitlines()
    assert words.split() == ["total", "=", "price"]
    assert len(tags.split()) == 3


def test_a_narrow_terminal_has_one_word_a_line(parser, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    main(["show", parser, "total = price * tax"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in lines] == ["total", "=", "price", "*", "tax"]


def test_probabilities_are_written_beside(tagger, capsys):
    main(["show", tagger, "total = price", "--probabilities"])
    probabilities = capsys.readouterr().out.splitlines()[-1].split()
    assert len(probabilities) == 3
    assert all(0 <= float(probability) <= 1 for probability in probabilities)


def test_a_page_is_written_and_the_sentence_escaped(parser, tmp_path, capsys):
    path = tmp_path / "tree.html"
    assert main(["show", parser, "a < b & <script>", "--html", str(path), "--probabilities"]) == 0
    assert capsys.readouterr() == ("", f"wrote {path}\n")
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text
    page = Page(text)
    assert page.open == []
    assert {"a", "<", "b", "&", "script", ">"} <= set(page.texts)


@pytest.mark.parametrize("sentence", ["", "  "])
def test_an_empty_sentence_is_asked_for(parser, sentence, capsys):
    assert main(["show", parser, sentence]) == 2
    assert capsys.readouterr().err.startswith("error: the sentence is empty; give one")


def test_without_a_sentence_one_of_the_development_corpus_is_drawn(parser, treebank, tmp_path, capsys):
    assert main(["show", parser]) == 0
    drawn, said = capsys.readouterr()
    known = re.fullmatch("no sentence was given; using an example of the model: (.*)\n", said)
    example = known.group(1)
    assert example.split() in [sentence.forms for sentence in conllu.read(treebank.dev)]
    assert main(["show", parser, example]) == 0
    assert capsys.readouterr() == (drawn, "")
    page = tmp_path / "tree.html"
    assert main(["show", parser, "--html", str(page)]) == 0
    assert f"<title>{html.escape(example)}</title>" in page.read_text(encoding="utf-8")


def test_without_a_sentence_a_model_that_carries_none_asks_for_one(parser, tmp_path, capsys):
    folder = shutil.copytree(parser, tmp_path / "old")
    (folder / "examples.json").unlink()
    assert main(["show", str(folder)]) == 2
    assert capsys.readouterr().err.startswith("error: the sentence is empty; give one")


def test_a_missing_model_is_named(capsys):
    assert main(["show", "nowhere", "x"]) == 2
    assert capsys.readouterr().err == "error: nowhere: there is no such model folder\n"


def test_language_specific_tags_are_drawn_first():
    assert diagram_of(conllu.from_forms(["a"]).annotated(upos=["X"], xpos=["XX"])).tags == ["XX"]


def test_the_few_trees_of_a_sentence_are_drawn(sparse, tmp_path, capsys):
    assert main(["show", sparse, "the old cat sees a dog", "--structures"]) == 0
    *lines, more = capsys.readouterr().out.splitlines()
    titles = [line.split() for line in lines if line.startswith("weight ")]
    weights = [float(weight) for _, weight, _ in titles]
    bars = [len(bar) for *_, bar in titles]
    assert bars == sorted(bars, reverse=True)
    assert len(weights) > 1
    assert weights == sorted(weights, reverse=True)
    assert re.fullmatch(r"\d more, weight \.0\d together", more)
    assert 0.9 < sum(weights) + float(more.split()[-2]) < 1.1
    page, picture = tmp_path / "trees.html", tmp_path / "trees.svg"
    both = ["--html", str(page), "--svg", str(picture)]
    assert main(["show", sparse, "the old cat sees a dog", "--structures", *both]) == 0
    assert page.read_text().count(">weight ") == len(weights)
    assert picture.read_text().count(">weight ") == len(weights)


def test_ambiguous_sentences_are_listed_with_their_lines(sparse, tmp_path, capsys):
    path = tiny_corpora.write(SENTENCES, tmp_path / "corpus.conllu")
    assert main(["show", sparse, "--ambiguous", str(path), "-n", "2"]) == 0
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("line ")]
    lines = list(dict.fromkeys(title.split(",")[0] for title in titles))
    expected = saved_model.load(sparse).ambiguous(conllu.read(path), 2)
    assert lines == [f"line {sentence.line}" for sentence in expected]


def test_given_trees_have_a_probability(sparse, tmp_path, capsys):
    path = tiny_corpora.write(SENTENCES, tmp_path / "corpus.conllu")
    assert main(["show", sparse, "--structures", "--against", str(path), "-n", "2"]) == 0
    out, err = capsys.readouterr()
    model = saved_model.load(sparse)
    weights = [model.given_weights(sentence)[0] for sentence in conllu.read(path)]
    titles = [line.split(",")[0] for line in out.splitlines() if line.startswith("line ")]
    first = [sentence.line for sentence in conllu.read(path)][:2]
    assert list(dict.fromkeys(titles)) == [
        f"line {line}: the gold structure has {weight:.1%}"
        for line, weight in zip(first, weights, strict=False)
    ]
    mean, above = sum(weights) / len(weights), sum(weight > 0 for weight in weights) / len(weights)
    assert f"6 gold structures have an average probability of {mean:.1%}; {above:.1%} of them" in err


def test_what_is_not_sparse_has_no_few_trees(parser, tagger, treebank, capsys):
    trainings = {
        parser: "models trained with --criterion sparsemap have one",
        tagger: "models of the tasks depend",
    }
    for options in (["x", "--structures"], ["--ambiguous", treebank.dev]):
        for model, training in trainings.items():
            assert main(["show", model, *options]) == 2
            assert f"the model has no sparse distribution over structures; {training}" in capsys.readouterr().err


@pytest.fixture(scope="module")
def classifiers(tmp_path_factory):
    """Folders of classifiers by latent trees, with random weights, and of one by given trees."""
    folder = tmp_path_factory.mktemp("classifiers")
    for name, options in {
        "argmax": {"estimator": "argmax"}, "marginals": {"estimator": "marginals", "reader": "gcn"},
        "given": {"tree": "given"},
    }.items():  # fmt: skip
        config = tiny_corpora.small(classify.Config(model="latent-tree"))
        config.latent = classify.LatentTreeConfig(**options)
        content = "".join(
            f"# label = {label}\n1\t{word}" + "\t_" * 4 + "\t0" + "\t_" * 3 + "\n\n"
            for label, word in (("good", "fine"), ("bad", "dull"))
        )
        corpus = list(sentence_labels.read(io.BytesIO(content.encode())))
        saved_model.save(Classifier.from_corpus(config, corpus), folder / name)
    return folder


def test_what_prediction_reads_is_drawn_be_it_one_tree(classifiers, tmp_path, capsys):
    assert main(["show", str(classifiers / "argmax"), "a fine film", "--structures"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "weight" in line] == [
        f"weight 1.0  {'█' * 30}"
    ]
    corpus = tmp_path / "corpus.tsv"
    corpus.write_text("good\ta fine film\n")
    assert main(["show", str(classifiers / "argmax"), "--ambiguous", str(corpus)]) == 2
    assert "reads a single structure of each sentence, so none is ambiguous" in capsys.readouterr().err
    assert main(["show", str(classifiers / "marginals"), "a fine film", "--structures"]) == 2
    assert "--model latent-tree have one, unless --latent.estimator is marginals" in capsys.readouterr().err


def test_given_trees_are_not_in_running_text(classifiers, capsys):
    for options in ([], ["--structures"]):
        assert main(["show", str(classifiers / "given"), "a fine film", *options]) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert "<stream>" not in error
    assert main(["show", str(classifiers / "given"), "a fine film"]) == 2
    assert "--latent.tree given reads the trees of CoNLL-U files" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["x", "--ambiguous", "corpus.conllu"], "more than one kind of picture"),
        (["x", "--structures", "--channels"], "more than one kind of picture"),
        (["x", "--lattice"], "the model has no lattice of tags; models of the task tag do"),
        (["--ambiguous", "corpus.conllu", "-n", "0"], "--number is 0; expected 1 or more"),
        (["--ambiguous", "none.conllu"], "none.conllu: there is no such file"),
        (["--ambiguous", "empty.conllu"], "empty.conllu: the file holds no sentence"),
        (["--structures"], "the sentence is empty; give one"),
        (
            ["--against", "corpus.conllu"],
            "--against compares structures with those of a corpus; give --struct",
        ),
        (["x", "--structures", "--against", "corpus.conllu"], "more than one kind of picture"),
        (["--structures", "--against", "none.conllu"], "none.conllu: there is no such file"),
    ],
)
def test_few_trees_are_asked_for_one_way_at_a_time(sparse, options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.conllu").touch()
    assert main(["show", sparse, *options]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_a_score_as_training_went_on(parser, sparse, capsys):
    assert main(["show", parser, "--history", "LAS"]) == 0
    drawn = capsys.readouterr().out
    history = json.loads((Path(parser) / "metrics.json").read_text())["history"]
    assert drawn.startswith("LAS by step of training")
    for epoch in history:
        assert str(epoch["step"]) in drawn
        assert f"{epoch['LAS']:.3g}" in drawn
    assert main(["show", parser, "--history", "beauty"]) == 2
    assert "the training of the model has no score 'beauty'; it has loss, " in capsys.readouterr().err
    assert main(["show", sparse, "--history", "LAS"]) == 2
    assert "it was not trained in steps on a development corpus" in capsys.readouterr().err
