"""Corpora of random numbers, and what the command line does with them."""

import json

import pytest

from strukt.cli.main import main

SMALL = ["--size=8", "--iterations=2", "--trainer.epochs=2", "--trainer.threads=1", "--trainer.tokens=100"]


@pytest.fixture(scope="module", params=["sort", "count"])
def task(request):
    return request.param


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("numbers")


@pytest.fixture(scope="module")
def corpus(task, folder):
    path = str(folder / f"{task}.txt")
    largest = ["--largest", "5"] if task == "sort" else []
    assert main(["make", task, "-o", path, "-n", "60", "--shortest", "1", "--longest", "7", *largest]) == 0
    return path


@pytest.fixture(scope="module")
def model(task, corpus, folder):
    path = str(folder / task)
    assert main(["train", task, "--train", corpus, "--dev", corpus, "-o", path, *SMALL]) == 0
    return path


def rows(path):
    with open(path, encoding="utf-8") as stream:
        return [[int(word) for word in line.split(" ")] for line in stream]


def test_a_corpus_has_what_was_asked_for(task, corpus):
    found = rows(corpus)
    assert len(found) == 60
    assert {len(row) for row in found} == set(range(1, 8))
    assert {number for row in found for number in row} == set(range(6 if task == "sort" else 2))


def test_a_seed_decides(tmp_path):
    paths = [str(tmp_path / name) for name in "abc"]
    for path, seed in zip(paths, ("3", "3", "4"), strict=True):
        assert main(["make", "sort", "-o", path, "-n", "5", "--seed", seed]) == 0
    first, again, other = map(rows, paths)
    assert first == again
    assert first != other
    assert all(5 <= len(row) <= 15 and max(row) <= 99 for row in first)


def test_a_dash_is_standard_output(capsys):
    assert main(["make", "sort", "-o", "-", "-n", "2", "--largest", "1"]) == 0
    out, err = capsys.readouterr()
    assert {number for line in out.splitlines() for number in line.split()} == {"0", "1"}
    assert (out.count("\n"), err) == (2, "wrote standard output\n")


def test_expressions_have_what_was_asked_for_and_their_values(tmp_path, capsys):
    path = str(tmp_path / "lists.tsv")
    options = ["--depth", "2", "--arguments", "3", "--longest", "9", "--operators", "max,sm", "--seed", "2"]
    assert main(["make", "listops", "-o", path, "-n", "40", *options]) == 0
    assert main(["check", "listops", path]) == 0
    out = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["sentences", "40"] in out
    with open(path, encoding="utf-8") as stream:
        names = {symbol for line in stream for symbol in line.split() if symbol.startswith("[")}
    assert names == {"[MAX", "[SM"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sort"], "--output"),
        (["sorrt", "-o", "x"], "did you mean 'sort'?"),
        (["sort", "-o", "x", "-n", "0"], "--number is 0; expected 1 or more"),
        (["sort", "-o", "x", "--shortest", "0"], "--shortest is 0; expected 1 or more"),
        (["sort", "-o", "x", "--longest", "4"], "--longest is 4; expected 5 or more"),
        (["sort", "-o", "x", "--seed", "-1"], "--seed is -1; expected 0 or more"),
        (["sort", "-o", "x", "--longest", "40000"], "--longest is 40000; expected at most 33333, to fit into"),
        (
            ["sort", "-o", "x", "--largest", "-1"],
            "--largest is -1; expected 0 or more, with up to 18 digits",
        ),
        (["count", "-o", "x", "--largest", "2"], "--largest is for the task sort"),
        (["listops", "-o", "x", "--shortest", "2"], "--shortest is for the tasks sort and count"),
        (["listops", "-o", "x", "--longest", "30000"], "--longest is 30000; expected at most 20000, to fit"),
        (["listops", "-o", "x", "--arguments", "1"], "--arguments is 1; expected 2 or more"),
        (["listops", "-o", "x", "--operators", "MAX,MN"], "unknown operator 'MN'; did you mean 'MIN'?"),
        (
            ["listops", "-o", "x", "--depth", "1", "--arguments", "2", "--operators", "MAX"],
            "found 100 different expressions of up to 100 symbols",
        ),
        (["sort", "-o", "nowhere/x"], "nowhere/x: cannot be written"),
    ],
)
def test_what_cannot_be_made(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["make", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_is_checked(task, corpus, tmp_path, capsys):
    assert main(["check", task, corpus]) == 0
    assert ["sentences", "60"] in [line.split() for line in capsys.readouterr().out.splitlines()]
    faulty = tmp_path / "faulty.txt"
    faulty.write_text("0 1\n1 -\n1\n")
    assert main(["check", task, str(faulty)]) == 2
    out = capsys.readouterr().out
    assert out.startswith(f"{faulty}:2: '-' is not a ")
    assert ["sentences", "2"] in [line.split() for line in out.splitlines()]


def test_scores_are_shown_by_length(model, corpus, capsys):
    capsys.readouterr()
    assert main(["evaluate", model, corpus]) == 0
    assert "6-10" in capsys.readouterr().out


def test_answers_are_notes(task, model, corpus, tmp_path, capsys):
    out = tmp_path / "answers.conllu"
    assert main(["predict", model, corpus, "-o", str(out)]) == 0
    count = len(rows(corpus)) if task == "count" else sum(map(len, rows(corpus)))
    assert out.read_text().count("sorted=" if task == "sort" else "count=") == count
    capsys.readouterr()
    assert main(["evaluate", model, str(out), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert main(["evaluate", model, corpus, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == again


OPTIONS = [
    [], ["--interactions", "1"], ["--tree", "1"], ["--graph", "1", "--spanning", "absolute"], ["--sweeps", "1"],
]  # fmt: skip


@pytest.mark.parametrize("option", OPTIONS)
def test_attention_is_drawn(model, option, tmp_path, capsys):
    capsys.readouterr()
    assert main(["show", model, "1 0 1", *option]) == 0
    assert {"0", "1"} <= set(capsys.readouterr().out.split())
    picture = tmp_path / "picture.svg"
    assert main(["show", model, "1 0 1", *option, "--svg", str(picture)]) == 0
    assert picture.read_text().startswith("<svg")


def test_the_spanning_tree_is_chosen(model, tmp_path):
    pages = []
    for spanning in ("minimum", "maximum", None):
        page = tmp_path / f"{spanning}.svg"
        chosen = ["--spanning", spanning] if spanning else []
        assert main(["show", model, "1 0 1 0 0 1", "--tree", "1", *chosen, "--svg", str(page)]) == 0
        pages.append(page.read_text())
    assert pages[2] == pages[0] != pages[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1 0", "--interactions", "9"], "the step is 9; expected one from 1 to"),
        (["1 0", "--tree", "0"], "the step is 0; expected one from 1 to"),
        (["1 0", "--tree", "1", "--sweeps", "1"], "more than one kind of picture"),
        (["", "--tree", "1"], "the sentence is empty"),
        (["--codes", "--tree", "1"], "more than one kind of picture"),
        (["1 0", "--states"], "more than one kind of picture"),
        (
            ["1 0", "--sweeps", "1", "--spanning", "maximum"],
            "--spanning chooses the tree of --tree or --graph",
        ),
        (["1 z"], "'z' is not a "),
    ],
)
def test_what_cannot_be_drawn(model, arguments, message, capsys):
    capsys.readouterr()
    assert main(["show", model, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_other_models_have_no_interactions(tagger, capsys):
    assert main(["show", tagger, "a b", "--interactions", "1"]) == 2
    assert "error: the model has no interactions to show" in capsys.readouterr().err
