"""The demonstration in small, and its baseline."""

import shlex

import pytest

from strukt.cli import demo
from strukt.cli.main import main
from strukt.data import conllu


def sentence(*words: tuple[str, int, str]) -> conllu.Sentence:
    forms, heads, relations = zip(*words, strict=True)
    return conllu.from_forms(list(forms)).annotated(head=heads, deprel=relations)


def test_the_baseline_hangs_words_on_the_one_before():
    known = sentence(("a", 2, "det"), ("b", 0, "root"), ("a", 2, "det"), ("c", 2, "obj"))
    (guess,) = demo.Baseline([known, known]).predict([conllu.from_forms(["c", "a", "new"])])
    assert guess.heads == [0, 1, 2]
    assert guess.deprels == ["obj", "det", "det"]
    assert conllu.require_tree(guess)


def test_the_demonstration(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "SIZES", {"train": 200, "dev": 20, "test": 40})
    folder = tmp_path / "my demo"
    small = demo.configuration(folder)
    small.trainer.epochs = 1
    monkeypatch.setattr(demo, "configuration", lambda folder: small)
    for _ in range(2):  # it can be run again
        assert main(["demo", "-o", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "UAS" in out
    assert "baseline: the head is the previous word" in out
    assert "▼" in out or "▶" in out
    steps = [shlex.split(line) for line in out.splitlines() if line.startswith("  strukt ")]
    assert [step[1] for step in steps[-4:]] == ["show", "predict", "serve", "train"]
    assert main(steps[-3][1:]) == 0, "the second of the commands to try next works"


@pytest.mark.slow
def test_the_demonstration_beats_its_baseline(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path)]) == 0
    scores = [
        line.split()[-2:]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(("parser", "baseline"))
    ]
    parser, baseline = ([float(score) for score in row] for row in scores)
    assert parser[0] > baseline[0] + 20
    assert parser[1] > baseline[1] + 20
