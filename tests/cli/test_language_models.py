"""Language models from the command line."""

import json
import re

import pytest
from tests import tiny_corpora

from strukt.cli.main import main

SMALL = {
    "ngram": ["--order=3"],
    "lowrank-hmm": ["--states=8", "--rank=4", "--size=8", "--trainer.epochs=2", "--trainer.threads=1"],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(" ".join(sentence.forms) + "\n" for sentence in tiny_corpora.trees(40)))
    return str(path)


@pytest.fixture(scope="module")
def train(corpus, tmp_path_factory):
    done = {}

    def trained(kind):
        if kind not in done:
            done[kind] = str(tmp_path_factory.mktemp("models") / kind)
            files = ["--train", corpus, "--dev", corpus, "-o", done[kind]]
            assert main(["train", "lm", "--model", kind, *files, *SMALL[kind]]) == 0
        return done[kind]

    return trained


@pytest.mark.parametrize("kind", SMALL)
def test_what_training_prints_evaluation_finds_again(kind, train, corpus, capsys):
    model = train(kind)
    capsys.readouterr()
    assert main(["evaluate", model, corpus, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    with open(f"{model}/metrics.json") as stream:
        assert scores["perplexity"] == pytest.approx(json.load(stream)["dev"]["perplexity"], rel=1e-5)
    assert 1 < scores["perplexity"] < 30


def test_a_model_that_only_counts_has_no_curve(train, capsys):
    model = train("ngram")
    capsys.readouterr()
    assert main(["show", model, "--history", "perplexity"]) == 2
    assert "it was not trained in steps" in capsys.readouterr().err


@pytest.mark.parametrize("kind", SMALL)
def test_sentences_are_made_up(kind, train, capsys):
    model = train(kind)
    capsys.readouterr()
    assert main(["generate", model, "-n", "4", "--length", "6", "--seed", "3"]) == 0
    first = capsys.readouterr().out
    assert len(first.splitlines()) == 4
    assert main(["generate", model, "-n", "4", "--length", "6", "--seed", "3"]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [("--seed", 1 << 64, "at most 18446744073709551615"), ("--number", -1, "0 or more")],
)
def test_numbers_out_of_range_are_refused(option, value, expected, capsys):
    assert main(["generate", "MODEL", option, str(value)]) == 2
    assert f"{option} is {value}; expected {expected}" in capsys.readouterr().err


def test_made_up_sentences_meet_constraints(train, capsys):
    model = train("lowrank-hmm")
    capsys.readouterr()
    words = ["--containing", "a", "--containing", "sees", "--avoiding", "the cat"]
    pattern = ["--matching", "the .* (dog|cat)"]
    assert main(["generate", model, "-n", "20", "--length", "9", *words, *pattern]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20
    for line in lines:
        assert {"a", "sees"} <= set(line.split())
        assert "the cat" not in line
        assert re.fullmatch("the .* (dog|cat)", line)


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("ngram", ["--containing", "cat"], "a constraint needs a model with hidden states or a grammar"),
        ("lowrank-hmm", ["--containing", "the kat"], "--containing: the model does not know the word 'kat'"),
        ("lowrank-hmm", ["--avoiding", "cat </s>"], "--avoiding: '</s>' ends each sentence and is not part of it"),
        ("lowrank-hmm", ["--avoiding", " "], "--avoiding is ' '; expected one or more words"),
        ("lowrank-hmm", ["--matching", "(a"], "--matching: pattern is '(a', which is malformed"),
        ("lowrank-hmm", ["--containing", "cat", "--avoiding", "cat"], "no text meets the constraint in 40 words"),
        ("lowrank-hmm", ["--matching", ".*", "--length=0"], "--length is 0; expected 1 or more with --matching"),
    ],
)
def test_constraints_that_cannot_be_met(kind, arguments, message, train, capsys):
    assert main(["generate", train(kind), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_gaps_are_filled(train, tmp_path, capsys):
    (tmp_path / "gaps.txt").write_text("the _ sees a dog\na ? cat\n")
    model = train("lowrank-hmm")
    assert (
        main(["predict", model, str(tmp_path / "gaps.txt"), "--infill", "-o", str(tmp_path / "out.txt")]) == 0
    )
    first, second = (tmp_path / "out.txt").read_text().splitlines()
    assert "_" not in first
    assert second == "a ? cat"
    assert main(["predict", model, str(tmp_path / "gaps.txt"), "--infill", "?"]) == 0
    assert "?" not in capsys.readouterr().out


def test_filled_gaps_have_no_probabilities(train, corpus, tmp_path, capsys):
    for output in ("out.txt", "out/"):
        arguments = ["--infill", "--probabilities", "-o", str(tmp_path / output)]
        assert main(["predict", train("lowrank-hmm"), corpus, *arguments]) == 2
        assert "--infill writes plain text, without --probabilities; give one" in capsys.readouterr().err
        assert not (tmp_path / output).exists()


def test_each_word_has_its_probability(train, corpus, capsys):
    assert main(["predict", train("ngram"), corpus]) == 0
    assert capsys.readouterr().out.count("p=0.") > 100


@pytest.mark.parametrize("kind", SMALL)
def test_a_sentence_is_drawn(kind, train, tmp_path, capsys):
    picture = tmp_path / "states.svg"
    assert main(["show", train(kind), "the cat sees a dog"]) == 0
    assert "cat" in capsys.readouterr().out
    assert main(["show", train(kind), "the cat sees a dog", "--svg", str(picture)]) == 0
    assert picture.read_text().startswith("<svg")


def test_other_models_make_nothing_up(tagger, capsys):
    assert main(["generate", tagger]) == 2
    assert "strukt generate needs a language model; MODEL is of the task tag" in capsys.readouterr().err
    assert main(["predict", tagger, "-", "--infill"]) == 2
    assert "--infill needs a language model" in capsys.readouterr().err


def test_the_states_that_follow_each_other(train, tmp_path, capsys):
    model, path = train("lowrank-hmm"), tmp_path / "states.svg"
    capsys.readouterr()
    assert main(["show", model, "--states"]) == 0
    title, _, *rows = capsys.readouterr().out.splitlines()
    assert title == "transitions between hidden states"
    assert 8 <= len(rows) <= 8 * 3
    edges = sorted(re.search(r" → .*  ([01]\.\d\d) *([█▏▎▍▌▋▊▉]*)$", row).groups() for row in rows)
    assert all(0.02 <= float(weight) <= 1 for weight, _ in edges)
    bars = [len(bar) for _, bar in edges]
    assert bars == sorted(bars)
    assert main(["show", model, "--states", "--svg", str(path)]) == 0
    assert path.read_text(encoding="utf-8").count('class="label"') == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "dog", "--states"], "error: more than one kind of picture"),
        (["--states", "--codes"], "error: more than one kind of picture"),
        (["--states"], "error: the model has no hidden states"),
    ],
)
def test_states_of_what_has_none(train, arguments, message, capsys):
    model = train("ngram")
    capsys.readouterr()
    assert main(["show", model, *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)
