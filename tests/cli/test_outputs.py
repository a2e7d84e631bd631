"""Files that are there are never lost: not the input, not a model, and no other without --force."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strukt.cli.main import main
from strukt.errors import DataError
from strukt.train import saved_model

OLD = "what stood here\n"


@pytest.fixture
def gold(treebank, tmp_path):
    path = tmp_path / "gold.conllu"
    path.write_bytes(Path(treebank.test).read_bytes())
    return path


def by_name(gold):
    return gold


def by_another_path(gold):
    return gold.parent / ".." / gold.parent.name / gold.name


def through_a_missing_folder(gold):
    return gold.parent / "missing" / ".." / gold.name


def by_symbolic_link(gold):
    (gold.parent / "symbolic.conllu").symlink_to(gold.name)
    return gold.parent / "symbolic.conllu"


def by_hard_link(gold):
    os.link(gold, gold.parent / "hard.conllu")
    return gold.parent / "hard.conllu"


@pytest.mark.parametrize(
    "name", [by_name, by_another_path, through_a_missing_folder, by_symbolic_link, by_hard_link]
)
def test_prediction_never_replaces_its_input(tagger, treebank, gold, name, capsys):
    before, output = gold.read_bytes(), str(name(gold))
    for inputs, force in ([[str(gold)], []], [[treebank.dev, str(gold)], ["--force"]]):
        assert main(["predict", tagger, *inputs, "-o", output, *force]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: {output} is ")
        assert "input" in error
        assert error.count("\n") == 1
    assert gold.read_bytes() == before


def predict(*arguments: str, **streams) -> subprocess.CompletedProcess:
    program = [sys.executable, "-m", "strukt", "predict", *arguments]
    return subprocess.run(program, stderr=subprocess.PIPE, timeout=120, text=True, **streams)


def test_standard_input_and_output_count_too(tagger, gold):
    before = gold.read_bytes()
    with open(gold, "rb") as source:
        done = predict(tagger, "-", "-o", str(gold), "--force", stdin=source)
    assert done.returncode == 2
    assert done.stderr == f"error: {gold} is both standard input and output; give another output\n"
    with open(gold, "ab") as target:
        done = predict(tagger, str(gold), stdout=target)
    assert done.returncode == 2
    assert done.stderr == f"error: {gold} is both input and standard output; give another output\n"
    assert gold.read_bytes() == before


WRITERS = {
    "predict": (["predict", "{tagger}", "{gold}", "-o"], "out.conllu"),
    "page": (["show", "{tagger}", "x = y", "--html"], "out.html"),
    "picture": (["show", "{tagger}", "x = y", "--svg"], "out.svg"),
    "make": (["make", "sort", "-n", "3", "-o"], "out.txt"),
    "card": (["card", "{tagger}", "-o"], "README.md"),
}


@pytest.mark.parametrize("command", WRITERS)
def test_other_files_are_replaced_when_that_is_asked_for(command, tagger, gold, tmp_path, capsys):
    words, name = WRITERS[command]
    output = tmp_path / name
    arguments = [*(word.format(tagger=tagger, gold=gold) for word in words), str(output)]
    output.write_text(OLD)
    assert main(arguments) == 2
    expected = f"error: {output} exists already; add --force to replace it, or give another file\n"
    assert capsys.readouterr() == ("", expected)
    assert output.read_text() == OLD
    assert main([*arguments, "--force"]) == 0
    assert OLD not in output.read_text()
    assert sorted(os.listdir(tmp_path)) == sorted([gold.name, name])
    output.unlink()
    assert main(arguments) == 0
    assert output.stat().st_size


def test_scores_by_length_are_drawn_over_nothing_else(tagger, gold, tmp_path, capsys):
    picture = tmp_path / "lengths.svg"
    picture.write_text(OLD)
    assert main(["evaluate", tagger, str(gold), "--svg", str(picture)]) == 2
    assert "exists already; add --force" in capsys.readouterr().err
    assert picture.read_text() == OLD


def test_the_folder_of_the_model_is_no_output(tagger, gold, capsys):
    before = sorted(Path(tagger).iterdir())
    for output in (tagger, f"{tagger}/", f"{tagger}/../{Path(tagger).name}"):
        assert main(["predict", tagger, str(gold), "-o", output]) == 2
        assert capsys.readouterr().err == f"error: {output} is the folder of the model; give another folder\n"
    assert sorted(Path(tagger).iterdir()) == before


def test_a_file_of_the_model_is_no_output(tagger, gold, capsys):
    path = Path(tagger) / "config.json"
    before = path.read_bytes()
    assert main(["predict", tagger, str(gold), "-o", str(path), "--force"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {path} is a file of the model {tagger}; ")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "{tagger}", "x", "--svg", "a.pdf"], "a.pdf has another suffix; expected .svg"),
        (["show", "{tagger}", "x", "--svg", "a"], "a has another suffix; expected .svg"),
        (["show", "{tagger}", "x", "--html", "a.svg"], "a.svg has another suffix; expected .html or .htm"),
        (["evaluate", "{tagger}", "{gold}", "--svg", "a.png"], "a.png has another suffix; expected .svg"),
        (["show", "{tagger}", "x", "--svg", "."], ". is a folder; give a file"),
        (["make", "sort", "-o", "new/"], "new/ is a folder; give a file"),
        (["predict", "{tagger}", "{gold}", "-o", "parts/", "--force"], "--force is for an output file"),
    ],
)
def test_names_that_contradict_what_is_written(tagger, gold, arguments, message, monkeypatch, capsys):
    monkeypatch.chdir(gold.parent)
    assert main([word.format(tagger=tagger, gold=gold) for word in arguments]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert os.listdir() == [gold.name]


def test_endings_may_be_capitals(tagger, tmp_path):
    assert (
        main(["show", tagger, "x", "--svg", str(tmp_path / "A.SVG"), "--html", str(tmp_path / "b.htm")]) == 0
    )


def test_a_model_replaces_no_files_that_are_not_its_own(treebank, tmp_path, capsys):
    (tmp_path / "config.json").write_text(OLD)
    corpora = ["--train", treebank.train, "--dev", treebank.dev]
    assert main(["train", "tag", *corpora, "-o", str(tmp_path)]) == 2
    message = "holds config.json, which the model would replace; choose another folder"
    assert capsys.readouterr().err == f"error: {tmp_path}: {message}\n"
    assert os.listdir(tmp_path) == ["config.json"]
    assert (tmp_path / "config.json").read_text() == OLD


def test_an_exported_model_replaces_no_files_that_are_not_its_own(tagger, tmp_path, capsys):
    pytest.importorskip("onnxscript")
    (tmp_path / "config.json").write_text(OLD)
    assert main(["export", tagger, "-o", str(tmp_path)]) == 2
    assert "holds config.json, which the model would replace" in capsys.readouterr().err
    assert main(["export", tagger, "-o", str(tmp_path / "config.json")]) == 2
    assert "config.json: cannot be written" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["config.json"]


def test_a_model_is_no_file(tagger, tmp_path):
    (tmp_path / "file").write_text(OLD)
    with pytest.raises(DataError, match="file: cannot be written"):
        saved_model.save(saved_model.load(tagger), tmp_path / "file")


def test_the_demonstration_replaces_only_its_own(tmp_path, capsys):
    (tmp_path / "train.conllu").write_text(OLD)
    (tmp_path / "parser").mkdir()
    assert main(["demo", "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path} holds files other than those of a demo")
    assert sorted(os.listdir(tmp_path)) == ["parser", "train.conllu"]
    assert (tmp_path / "train.conllu").read_text() == OLD


def test_pipes_need_no_force(tagger, gold, capsys):
    assert main(["predict", tagger, str(gold), "-o", os.devnull]) == 0
    assert capsys.readouterr() == ("", "")
