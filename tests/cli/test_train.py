"""Training from the command line."""

import signal
import subprocess
import sys

import pytest

from strukt.cli.main import main
from strukt.train import fit


def test_results_are_on_standard_output_and_messages_are_not(treebank, tmp_path, capsys):
    output = str(tmp_path / "a model")
    arguments = ["--train", treebank.dev, "--dev", treebank.dev, "-o", output]
    assert main(["train", "tag", *arguments, "--encoder.hidden=8", "--trainer.epochs=1"]) == 0
    out, err = capsys.readouterr()
    names = [line.split()[0] for line in out.splitlines()]
    assert "accuracy" in names
    assert all(0 <= float(line.split()[1]) <= 100 for line in out.splitlines())
    assert f"strukt evaluate '{output}' FILE" in err  # can be pasted into a shell


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


@pytest.mark.slow  # processes that have to be stopped at work
def test_a_training_that_is_stopped_ends_quietly_or_tells_how_it_continues(treebank, tmp_path):
    assert stopped_at_work(signal.SIGINT, treebank, tmp_path / "interrupted") == (130, [])
    line = b"stopped by SIGTERM; to continue, give the same command with --resume"
    assert stopped_at_work(signal.SIGTERM, treebank, tmp_path / "terminated") == (143, [line])


def test_sigterm_before_the_first_step_promises_nothing(treebank, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(fit, "examples_of", lambda *_: signal.raise_signal(signal.SIGTERM))
    corpora = ["--train", treebank.dev, "--dev", treebank.dev, "-o", str(tmp_path / "model")]
    assert main(["train", "tag", *corpora]) == 143
    assert capsys.readouterr() == ("", "stopped by SIGTERM\n")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("other", ["--dev", "--unlabelled"])
def test_standard_input_is_one_corpus(other, capsys):
    assert main(["train", "dependency", "--train", "-", other, "-"]) == 2
    assert capsys.readouterr().err.startswith("error: - is given twice; standard input can be read only once")
