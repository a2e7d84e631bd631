"""Prediction as a filter: order, streams, pipes, and files that are whole or not there."""

import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.notice import without_notice

from strukt.cli.main import main
from strukt.data import conllu

STRUKT = [sys.executable, "-m", "strukt"]
TIMEOUT = 120


def predict(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([*STRUKT, "predict", *arguments], capture_output=True, timeout=TIMEOUT, **options)


def without_prediction(text: str) -> list[list[str]]:
    """Every line without the columns HEAD and DEPREL."""
    lines = [line.split("\t") for line in text.split("\n")]
    return [line[:6] + line[8:] if len(line) == 10 else line for line in lines]


def test_only_the_prediction_is_new(parser, treebank, capsys):
    assert main(["predict", parser, treebank.test]) == 0
    out, err = capsys.readouterr()
    assert without_prediction(out) == without_prediction(Path(treebank.test).read_text())
    assert err == ""
    assert all(conllu.require_tree(sentence) for sentence in conllu.read(_stream(out)))


def test_a_dash_is_standard_output(tagger, treebank, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["predict", tagger, treebank.test])
    expected = capsys.readouterr()
    assert main(["predict", tagger, treebank.test, "-o", "-"]) == 0
    assert capsys.readouterr() == expected
    assert main(["predict", tagger, treebank.test, "-o", "-", "--shard", "1/2"]) == 2
    assert "--shard needs an output folder" in capsys.readouterr().err
    assert main(["show", tagger, "--svg", "-"]) == 2
    assert capsys.readouterr().err.startswith("error: -: cannot write to standard output; give the name")
    assert os.listdir() == []


def _stream(text: str):
    return io.BytesIO(text.encode())


def test_probabilities_are_notes(parser, treebank, capsys):
    main(["predict", parser, treebank.test, "--probabilities"])
    notes = re.findall(r"\bp=([\d.]+)", capsys.readouterr().out)
    words = sum(len(sentence) for sentence in conllu.read(treebank.test))
    assert len(notes) == words
    assert all(0 <= float(note) <= 1 for note in notes)


def test_several_files_come_in_turn(tagger, treebank, capsys):
    main(["predict", tagger, treebank.dev])
    dev = capsys.readouterr().out
    main(["predict", tagger, treebank.test])
    test = capsys.readouterr().out
    main(["predict", tagger, treebank.dev, treebank.test])
    assert capsys.readouterr().out == dev + test


def test_a_file_is_written_as_standard_output_is(tagger, treebank, tmp_path, capsys):
    output = tmp_path / "out.conllu"
    assert main(["predict", tagger, treebank.test, "-o", str(output)]) == 0
    assert capsys.readouterr().out == ""
    main(["predict", tagger, treebank.test])
    assert output.read_text() == capsys.readouterr().out
    assert os.listdir(tmp_path) == ["out.conllu"]


@pytest.mark.slow  # three processes
def test_commands_work_in_a_pipe(tagger, parser, treebank):
    with open(treebank.test, "rb") as stream:
        tags = predict(tagger, "-", stdin=stream)
    trees = predict(parser, "-", input=tags.stdout)
    assert tags.returncode == trees.returncode == 0
    assert without_notice(tags.stderr) == without_notice(trees.stderr) == ""
    assert len(trees.stdout.splitlines()) == len(Path(treebank.test).read_bytes().splitlines())


def give(text: bytes, monkeypatch) -> None:
    """Have this process find a text in its standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))


def test_nothing_given_is_standard_input_in_a_pipe(tagger, treebank, monkeypatch, capsys):
    assert main(["predict", tagger, treebank.test]) == 0
    expected = capsys.readouterr().out
    give(Path(treebank.test).read_bytes(), monkeypatch)
    assert main(["predict", tagger]) == 0
    assert capsys.readouterr() == (expected, "")


def test_nothing_given_at_a_terminal_is_asked_for(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["predict", "model"]) == 2
    assert capsys.readouterr().err.startswith("error: FILE is missing; give a file, or pipe a corpus in; see: ")


@pytest.mark.parametrize("text", ["Dogs bark .", "They told us to wait for a long time at the door ."])
def test_plain_text_in_place_of_conllu_is_recognised(tagger, text, tmp_path, capsys):
    path = tmp_path / "raw.conllu"
    path.write_text(text + "\n\n")
    assert main(["predict", tagger, str(path)]) == 2
    remedy = "if this is plain text to annotate, give the format text (on the command line, --format text)"
    message = f"expected 10 columns, found 1; {remedy}"
    assert capsys.readouterr() == ("", f"error: {path}:1: {message}\n")
    assert main(["predict", tagger, str(path), "--format", "text"]) == 0


def test_plain_text(parser, monkeypatch, capsys):
    give("x = 国 ( y )\n\nreturn x\n".encode(), monkeypatch)
    assert main(["predict", parser, "-", "--format", "text"]) == 0
    sentences = list(conllu.read(_stream(capsys.readouterr().out)))
    assert [sentence.forms for sentence in sentences] == [["x", "=", "国", "(", "y", ")"], ["return", "x"]]


@pytest.mark.slow
def test_output_appears_before_the_input_ends(tagger, treebank, tmp_path):
    expected = Path(treebank.test).read_bytes().splitlines(keepends=True)[0]
    with open(tmp_path / "out.conllu", "wb") as output:
        process = subprocess.Popen([*STRUKT, "predict", tagger, "-"], stdin=subprocess.PIPE, stdout=output)
    process.stdin.write(Path(treebank.test).read_bytes() * 30)
    process.stdin.flush()
    wait_for(lambda: (tmp_path / "out.conllu").read_bytes().startswith(expected))
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(TIMEOUT) == 0


def wait_for(condition) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.05)


def test_a_broken_line_is_named_and_the_old_file_stays(tagger, treebank, tmp_path, capsys):
    broken, output = tmp_path / "broken.conllu", tmp_path / "out.conllu"
    broken.write_text(Path(treebank.test).read_text() * 20 + "1\tx\n\n")
    output.write_text("what stood here\n")
    assert main(["predict", tagger, str(broken), "-o", str(output), "--force"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {broken}:{broken.read_text().count(chr(10)) - 1}: ")
    assert err.count("\n") == 1
    assert output.read_text() == "what stood here\n"
    assert sorted(os.listdir(tmp_path)) == ["broken.conllu", "out.conllu"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_input(tagger, treebank, tmp_path):
    peaks = []
    for copies in (50, 1000):
        large = tmp_path / f"{copies}.conllu"
        large.write_bytes(Path(treebank.test).read_bytes() * copies)
        program = (
            "import resource, sys; from strukt.cli.main import main\n"
            f"main(['predict', {tagger!r}, {str(large)!r}, '-o', '/dev/null'])\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.1 * peaks[0]
