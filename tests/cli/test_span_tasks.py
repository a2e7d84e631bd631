"""Constituency parsing and named entities from the command line."""

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from tests import tiny_corpora

import strukt
from strukt.cli.main import main
from strukt.data import brackets, conllu
from strukt.data.conllu import entity_notes
from strukt.data.entities import json_lines

SMALL = [
    "--encoder.layers=1",
    "--encoder.hidden=24",
    "--encoder.words=16",
    "--encoder.dropout=0.1",
    "--encoder.minimum_count=1",
    "--optimizer.learning_rate=0.01",
    "--trainer.tokens=60",
    "--trainer.epochs=8",
    "--trainer.threads=1",
    "--trainer.precision=32",
]
OF_CRITERION = {
    "likelihood": ["--span_size=24", "--label_size=16"],
    "bits": ["--label_size=16", "--bits=5", "--tree_weight=1"],
    "bits-published": ["--bits=5", "--variant=sup"],
}


def small(criterion):
    """The options of a small model, among them those that a criterion reads."""
    return [f"--criterion={criterion}", *SMALL, *OF_CRITERION[criterion]]


@pytest.fixture(scope="session")
def corpora(tmp_path_factory):
    """Paths of a bracket file and a file of JSON lines."""
    folder = tmp_path_factory.mktemp("spans")
    return SimpleNamespace(
        constituency=tiny_corpora.write(tiny_corpora.phrases(24), folder / "trees.ptb"),
        ner=tiny_corpora.write(tiny_corpora.nested(24), folder / "entities.jsonl"),
    )


@pytest.fixture(scope="session")
def train(corpora, tmp_path_factory):
    """Trains a model of a task with a criterion once, silently: its test may be any; gives its folder."""
    done = {}

    def trained(task, criterion):
        if (task, criterion) not in done:
            output, corpus = tmp_path_factory.mktemp(task) / criterion, getattr(corpora, task)
            arguments = ["--train", corpus, "--dev", corpus, "-o", str(output)]
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                assert main(["train", task, *arguments, *small(criterion)]) == 0
            done[task, criterion] = str(output)
        return done[task, criterion]

    return trained


@pytest.mark.parametrize("name", ["constituency", "ner"])
def test_the_published_loss_is_a_criterion(name, corpora, tmp_path, capsys):
    corpus = getattr(corpora, name)
    arguments = ["--train", corpus, "--dev", corpus, "-o", str(tmp_path / "m"), *small("bits-published")]
    assert main(["train", name, *arguments, "--trainer.epochs=2"]) == 0
    assert main(["evaluate", str(tmp_path / "m"), corpus, "--json"]) == 0
    assert "unseen_codes" in json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main(["train", name, *arguments, "--tree_weight=1"]) == 2
    assert "--tree_weight is 1.0, but has no effect; it needs --criterion bits" in capsys.readouterr().err


QUICK = {("constituency", "bits"), ("ner", "likelihood")}
TASKS = [
    pytest.param((task, criterion), marks=() if (task, criterion) in QUICK else pytest.mark.slow)
    for task in ("constituency", "ner")
    for criterion in ("likelihood", "bits")
]


@pytest.fixture(params=TASKS, ids="-".join)
def task(request, train, corpora):
    """A trained model with its corpus."""
    name, criterion = request.param
    return SimpleNamespace(
        name=name, criterion=criterion, model=train(name, criterion), corpus=getattr(corpora, name)
    )


def test_evaluation_prints_scores_and_tables(task, capsys):
    assert main(["evaluate", task.model, task.corpus]) == 0
    scores, *tables = capsys.readouterr().out.rstrip("\n").split("\n\n")
    shown = dict(line.split() for line in scores.splitlines())
    model = strukt.load(task.model)
    expected = model.measure(
        model.readers()[{"constituency": "brackets", "ner": "jsonl"}[task.name]](task.corpus)
    )
    assert shown == {name: f"{value:.2f}" for name, value in expected.scores.items()}
    assert ("unseen_codes" in shown) == (task.criterion == "bits")
    assert float(shown["f1"]) > 30
    heads = [table.splitlines()[0].split() for table in tables]
    rows = ["precision", "recall", "f1", "gold"]
    names = {"constituency": ["label"], "ner": ["type", "depth"]}[task.name]
    assert heads == [[name, *rows] for name in names]
    assert {"NP", "PER"} & {line.split()[0] for line in tables[0].splitlines()}
    assert main(["evaluate", task.model, task.corpus, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"precision", "recall", "f1", "gold"} == set(next(iter(found[names[0]].values())))


def test_prediction_has_the_format_of_its_input(task, tmp_path, capsys):
    output = tmp_path / "out.txt"
    assert main(["predict", task.model, task.corpus, "-o", str(output)]) == 0
    read = {"constituency": brackets.read, "ner": json_lines.read}[task.name]
    assert [sentence.forms for sentence in read(output)] == [sentence.forms for sentence in read(task.corpus)]


def test_conllu_gets_trees_and_entities(train, tmp_path, capsys):
    path = tmp_path / "bare.conllu"
    path.write_text(str(conllu.from_forms("the mayor of Rome visits Ada .".split())) * 2)
    assert main(["predict", train("constituency", "bits"), str(path)]) == 0
    out = capsys.readouterr().out
    assert out.count("# constituency = (ROOT (") == 2
    assert all(sentence.tree for sentence in conllu.read(io.BytesIO(out.encode())))
    assert main(["predict", train("ner", "likelihood"), str(path)]) == 0
    out = capsys.readouterr().out
    assert out.count("# global.Entity = ") == 1
    assert [len(sentence) for sentence in entity_notes.read(io.BytesIO(out.encode()))] == [7, 7]


@pytest.mark.parametrize("name", ["constituency", "ner"])
def test_probabilities_without_a_place(name, train, corpora, tmp_path, capsys):
    path, output = tmp_path / "a.bio", tmp_path / "out"
    path.write_text("Ada\tO\n\n")
    corpus = corpora.constituency if name == "constituency" else str(path)
    arguments = [train(name, "likelihood"), corpus, "--probabilities", "-o", str(output)]
    capsys.readouterr()
    assert main(["predict", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"error: {corpus}:1: .* no place for (the )?probabilities.*\n", err)
    assert not output.exists()


@pytest.mark.parametrize("sentence", ["(A (B c) (D e))", "(NP (NN tea))"])
def test_a_tree_is_no_sentence_to_show(train, sentence, capsys):
    model = train("constituency", "likelihood")
    capsys.readouterr()
    assert main(["show", model, sentence]) == 2
    assert capsys.readouterr() == (
        "",
        'error: SENTENCE is a tree; give its words only, for example: strukt show MODEL "Dogs bark."\n',
    )
    assert main(["show", model, "the (cat) sees"]) == 0


@pytest.mark.parametrize("name", ["constituency", "ner"])
def test_the_distances_between_codes_of_labels(name, train, tmp_path, capsys):
    model, path = train(name, "bits"), tmp_path / "codes.svg"
    assert main(["show", model, "--codes"]) == 0
    title, _, header, *rows = capsys.readouterr().out.splitlines()
    assert title == "mean Hamming distance between the codes of labels"
    names = header.split("  ")
    assert len(rows) == len(list(filter(None, names)))
    assert rows[0].startswith("∅"), "the empty label is the most frequent one"
    assert main(["show", model, "--codes", "--svg", str(path)]) == 0
    picture = ElementTree.parse(path).getroot()
    assert "∅" in "".join(picture.itertext())


def test_codes_are_shown_of_models_that_have_them_and_by_themselves(train, capsys):
    labels, codes = train("constituency", "likelihood"), train("constituency", "bits")
    assert main(["show", labels, "--codes"]) == 2
    assert capsys.readouterr().err.startswith("error: the model has no codes")
    assert main(["show", codes, "a cat", "--codes"]) == 2
    assert "more than one kind of picture" in capsys.readouterr().err


def test_a_development_corpus_is_looked_at_before_the_training(corpora, tmp_path, capsys):
    dev = tmp_path / "dev.conllu"
    dev.write_text(str(conllu.from_forms(["a", "cat"])))
    arguments = ["--train", corpora.constituency, "--dev", str(dev), "-o", str(tmp_path / "model")]
    assert main(["train", "constituency", *arguments, *SMALL]) == 2
    error = capsys.readouterr().err
    assert "dev.conllu:1: the sentence has no constituency tree" in error
    assert "epoch" not in error
