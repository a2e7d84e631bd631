"""Metrics from the command line."""

import json

import pytest

import strukt
from strukt.cli.main import main
from strukt.data import conllu


def test_the_table_shows_what_the_model_reaches(parser, treebank, capsys):
    assert main(["evaluate", parser, treebank.test]) == 0
    rows = dict(line.split() for line in capsys.readouterr().out.splitlines())
    expected = strukt.load(parser).evaluate(conllu.read(treebank.test))
    assert rows == {name: f"{value:.2f}" for name, value in expected.items()}
    assert {"UAS", "LAS"} <= set(rows)


def test_json_has_all_digits(tagger, treebank, capsys):
    assert main(["evaluate", tagger, treebank.test, "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out) == strukt.load(tagger).evaluate(conllu.read(treebank.test))
    assert out.count("\n") == 1


def test_models_side_by_side(tagger, treebank, capsys):
    assert main(["evaluate", tagger, treebank.test, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert main(["evaluate", tagger, treebank.test, "--beside", tagger, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {tagger: alone}
    assert main(["evaluate", tagger, treebank.test, "--beside", tagger]) == 0
    assert capsys.readouterr().out.startswith(f"{tagger}\n\naccuracy")
    assert main(["evaluate", tagger, "-", "--beside", tagger]) == 2
    assert "give a file instead of standard input" in capsys.readouterr().err


def test_scores_by_length_are_drawn(tmp_path, tagger, treebank, capsys):
    corpus = tmp_path / "numbers.txt"
    corpus.write_text("".join(f"{'1 0 ' * (line % 9 + 1)}1\n" for line in range(60)))
    for name, attention in (("without", "none"), ("with", "mean-field")):
        options = ["--attention", attention, "--size", "8", "--trainer.epochs", "1", "--trainer.threads", "1"]
        files = ["--train", str(corpus), "--dev", str(corpus), "-o", str(tmp_path / name / "model")]
        assert main(["train", "count", *files, *options]) == 0
    picture = tmp_path / "curves.svg"
    without, with_it = (str(tmp_path / name / "model") for name in ("without", "with"))
    models = [without, str(corpus), "--beside", with_it]
    assert main(["evaluate", *models, "--svg", str(picture)]) == 0
    drawn = picture.read_text()
    assert drawn.count('class="arc"') == 2
    assert "mse by length" in drawn
    assert "16-20" in drawn
    assert without in drawn
    assert with_it in drawn
    assert main(["evaluate", tagger, treebank.test, "--svg", str(picture), "--force"]) == 2
    assert "--svg draws scores by length" in capsys.readouterr().err
    assert main(["evaluate", tagger, treebank.test, "--svg", str(picture), "--json"]) == 2


ROOT = "1\tw\t_\t_\t_\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(
    ("rows", "line", "rule"),
    [
        ([(2, "a"), (1, "b")], 4, "no word has head 0"),
        ([(0, "root"), (3, "a"), (2, "b")], 5, "the heads form a cycle: 2 -> 3 -> 2"),
        ([(0, "root"), ("_", "a")], 5, "word 2, 'w', has no head"),
    ],
)
def test_gold_trees_that_are_none_are_refused_as_check_does(parser, tmp_path, rows, line, rule, capsys):
    wrong = "".join(
        f"{place}\tw\t_\t_\t_\t_\t{head}\t{label}\t_\t_\n" for place, (head, label) in enumerate(rows, 1)
    )
    file = tmp_path / "gold.conllu"
    file.write_text(f"{ROOT}\n# sent_id = 2\n{wrong}\n{ROOT}\n")
    assert main(["evaluate", parser, str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {file}:{line}: {rule}")
    assert err.count("\n") == 1
    assert main(["check", "dependency", str(file)]) == 2
    assert f"{file}:{line}: {rule}" in capsys.readouterr().out
    with pytest.raises(strukt.DataError, match=rf"gold.conllu:{line}: "):
        strukt.load(parser).evaluate(conllu.read(file))
