"""Training from the command line."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import strukt
from strukt.cli.main import main
from strukt.train import fit


def test_a_trained_model_can_be_loaded(tagger, treebank):
    model = strukt.load(tagger)
    assert model.config.criterion == "crf"
    assert model.config.encoder.hidden == 16
    assert model.config.train == treebank.train


def test_results_are_on_standard_output_and_messages_are_not(treebank, tmp_path, capsys):
    output = str(tmp_path / "model")
    arguments = ["--train", treebank.dev, "--dev", treebank.dev, "-o", output]
    assert main(["train", "tag", *arguments, "--encoder.hidden=8", "--trainer.epochs=1"]) == 0
    out, err = capsys.readouterr()
    names = [line.split()[0] for line in out.splitlines()]
    assert "accuracy" in names
    assert all(0 <= float(line.split()[1]) <= 100 for line in out.splitlines())
    assert f"strukt evaluate {output} FILE" in err


@pytest.mark.parametrize("missing", ["train", "dev"])
def test_a_missing_corpus_is_asked_for(missing, treebank, tmp_path, capsys):
    given = {"train": "--dev", "dev": "--train"}[missing]
    assert main(["train", "tag", given, treebank.dev, "-o", str(tmp_path / "model")]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert f"--{missing}" in err
    assert err.count("\n") == 1


def test_a_model_is_not_overwritten(tagger, treebank, capsys):
    before = {path: path.stat().st_mtime_ns for path in Path(tagger).glob("*.*")}
    assert main(["train", "tag", "--train", treebank.train, "--dev", treebank.dev, "-o", tagger]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tagger}: ")
    assert {path: path.stat().st_mtime_ns for path in Path(tagger).glob("*.*")} == before


def test_a_broken_corpus_is_named_with_its_line(treebank, tmp_path, capsys):
    broken = tmp_path / "broken.conllu"
    broken.write_text(Path(treebank.dev).read_text() + "1\tx\n\n")
    line = broken.read_text().count("\n") - 1
    assert (
        main(["train", "tag", "--train", str(broken), "--dev", treebank.dev, "-o", str(tmp_path / "m")]) == 2
    )
    assert capsys.readouterr().err.startswith(f"error: {broken}:{line}: ")
    assert not (tmp_path / "m" / "format.json").exists()


def test_a_training_that_diverges_says_so_in_one_line(treebank, tmp_path, capsys):
    corpora = ["--train", treebank.dev, "--dev", treebank.dev, "-o", str(tmp_path / "m")]
    sizes = ["--encoder.hidden=8", "--encoder.layers=1", "--arc_size=8", "--label_size=8"]
    wild = ["--optimizer.warmup=0", "--optimizer.learning_rate=1e6"]
    assert main(["train", "dependency", *corpora, *sizes, *wild]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("error: the scores are out of range (arcs holds ")
    assert "lower optimizer.learning_rate" in err
    assert all(line.startswith("epoch") for line in err.splitlines()[:-1])
    assert not (tmp_path / "m" / "format.json").exists()


def test_there_is_nothing_to_resume_in_a_new_folder(treebank, tmp_path, capsys):
    corpora = ["--train", treebank.train, "--dev", treebank.dev]
    assert main(["train", "tag", *corpora, "-o", str(tmp_path / "m"), "--resume"]) == 2
    assert "--resume" in capsys.readouterr().err


def stopped_at_work(number, treebank, output):
    """The exit code and what is printed after the first epoch, once a training has received a signal."""
    corpora = ["--train", treebank.dev, "--dev", treebank.dev, "-o", str(output)]
    endless = ["--encoder.hidden=8", "--trainer.epochs=10000", "--trainer.patience=10000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "strukt", "train", "tag", *corpora, *endless],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr.readline().startswith(b"epoch")
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert out == b""
    return process.returncode, [line for line in err.splitlines() if not line.startswith(b"epoch")]


@pytest.mark.slow  # a process that has to be stopped at work
def test_control_c_ends_a_training_quietly(treebank, tmp_path):
    assert stopped_at_work(signal.SIGINT, treebank, tmp_path / "model") == (130, [])


@pytest.mark.slow  # a process that has to be stopped at work
def test_sigterm_tells_how_a_training_continues(treebank, tmp_path):
    line = b"stopped by SIGTERM; to continue, give the same command with --resume"
    assert stopped_at_work(signal.SIGTERM, treebank, tmp_path / "model") == (143, [line])


def test_sigterm_before_the_first_step_promises_nothing(treebank, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(fit, "examples_of", lambda *_: signal.raise_signal(signal.SIGTERM))
    corpora = ["--train", treebank.dev, "--dev", treebank.dev, "-o", str(tmp_path / "model")]
    assert main(["train", "tag", *corpora]) == 143
    assert capsys.readouterr() == ("", "stopped by SIGTERM\n")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
