"""Standard streams that are full or closed, files of the wrong kind: one line and exit code 2."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from strukt.cli import console
from strukt.cli.main import main
from strukt.cli.table import detailed, table


def shell(command: str) -> subprocess.CompletedProcess:
    """Runs `strukt` with what follows it in a shell, whose signs close and lead streams."""
    return subprocess.run(
        ["sh", "-c", " ".join([sys.executable, "-m", "strukt", command])],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "command",
    ["--help", pytest.param("predict {tagger} {test}", marks=pytest.mark.slow), "check tag {test}"],
)
def test_a_full_disk_is_said_in_one_line(command, tagger, treebank):
    done = shell(command.format(tagger=tagger, test=treebank.test) + " > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


@pytest.mark.slow
def test_a_closed_output_is_no_fault(tagger, treebank):
    done = shell(f"predict {tagger} {treebank.test} >&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow  # a process
def test_a_closed_input_is_an_empty_one(tagger):
    done = shell(f"predict {tagger} - <&-")
    assert done.returncode == 2
    assert "holds no sentence" in done.stderr


def test_output_that_is_no_file_takes_the_text(tagger, treebank, capsys):
    """As in notebooks, and where a program calls a command."""
    assert main(["predict", tagger, treebank.test]) == 0
    expected = capsys.readouterr().out
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main(["predict", tagger, treebank.test]) == 0
    assert shown.getvalue() == expected


@pytest.mark.parametrize("fault", [BrokenPipeError(), OSError(28, "No space left on device")])
def test_faults_where_output_is_no_file(fault, monkeypatch):
    def failing(_):
        raise fault

    monkeypatch.setattr("strukt.cli.main.dispatch", failing)
    with contextlib.redirect_stdout(io.StringIO()):
        assert main([]) == (0 if isinstance(fault, BrokenPipeError) else 2)


def test_an_unknown_backend_is_said_in_one_line(parser, treebank, monkeypatch, capsys):
    monkeypatch.setenv("STRUKT_BACKEND", "gpu9")
    assert main(["predict", parser, treebank.test]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: STRUKT_BACKEND is 'gpu9'; expected one of")
    assert err.count("\n") == 1


@pytest.mark.slow  # two processes
def test_the_output_can_be_a_pipe_by_its_name(tagger, treebank, capsys):
    assert main(["predict", tagger, treebank.test]) == 0
    named = shell(f"predict {tagger} {treebank.test} -o /dev/stdout | cat")
    assert named.stdout == capsys.readouterr().out != ""


def test_an_option_out_of_range_is_said_before_anything_is_read(tmp_path, capsys):
    arguments = ["--train", "missing.conllu", "--dev", "missing.conllu", "--trainer.epochs", "0"]
    assert main(["train", "tag", *arguments, "-o", str(tmp_path / "model")]) == 2
    assert "--trainer.epochs is 0; expected 1 or more" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["check", "tag"], ["predict", "model"], ["evaluate", "model"]])
def test_files_are_looked_for_before_their_names_are_judged(command, tmp_path, capsys):
    assert main([*command, str(tmp_path / "missing")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    assert main([*command, str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err


def test_output_is_not_compressed(tagger, treebank, tmp_path, capsys):
    assert main(["predict", tagger, treebank.test, "-o", str(tmp_path / "out.conllu.gz")]) == 2
    assert "remove .gz" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


class Stream:
    def __init__(self, is_terminal: bool) -> None:
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


def test_predictions_keep_their_bytes_but_do_not_steer_a_terminal():
    text = "1\t\x1b[31mred\x07\t_\n\n"
    assert console.shown(text, Stream(False)) == text
    assert console.shown(text, Stream(True)) == "1\t�[31mred�\t_\n\n"


def test_the_card_does_not_steer_a_terminal(tagger, tmp_path, monkeypatch, capsys):
    model = tmp_path / "model"
    shutil.copytree(tagger, model)
    environment = json.loads((model / "environment.json").read_text())
    (model / "environment.json").write_text(json.dumps(environment | {"strukt": "\x1b[31mX\x07"}))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(["card", str(model)]) == 0
    assert not {"\x1b", "\x07"} & set(capsys.readouterr().out)


def test_predictions_in_a_pipe_keep_escape_sequences(tagger, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text("\x1b[31mred cat\n")
    assert main(["predict", tagger, str(path)]) == 0
    assert "1\t\x1b[31mred\t" in capsys.readouterr().out


def test_errors_warnings_and_tables_do_not_steer_a_terminal(capsys):
    console.error("\x1b[31m: there is no such file")
    console.warning("a\x07b")
    assert capsys.readouterr().err == "error: �[31m: there is no such file\nwarning: a�b\n"
    assert main(["predict", "\x1b[31mmodel", "\x1b]0;x\x07.conllu"]) == 2
    assert "\x1b" not in capsys.readouterr().err
    assert table([("a", "\x1b[31m")]) == "a  �[31m"
    assert "\x1b" not in detailed("type", {"\x1b[31m": {"f1": 1.0, "gold": 2}})


def test_pictures_do_not_steer_a_terminal(tagger, parser, capsys):
    for model in (tagger, parser):
        assert main(["show", model, "x\x1b[31m = \x07 y"]) == 0
        assert not {"\x1b", "\x07"} & set(capsys.readouterr().out)


def test_an_operating_system_error_names_its_file(monkeypatch, capsys):
    def dispatch(arguments):
        os.stat("m" * 300)

    monkeypatch.setattr("strukt.cli.main.dispatch", dispatch)
    assert main([]) == 2
    assert capsys.readouterr().err == f"error: {'m' * 300}: File name too long\n"
