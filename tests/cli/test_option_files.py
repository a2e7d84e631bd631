"""Files of options that are hostile or damaged: one line and exit code 2, and nothing hangs or crashes."""

import os
import subprocess
import sys

import pytest

from strukt.cli import option_files
from strukt.cli.main import main

BRACKETS = "[" * 50_000
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcde", "bcdef", strict=True)
)

TEXTS = {
    "recursive alias": ("x: &x {y: *x}", "the alias *x refers to a value that contains it"),
    "alias of a list": ("encoder: &e [1, [*e]]", "the alias *e refers to a value that contains it"),
    "brackets": (BRACKETS, "nested more than 20 deep"),
    "closed brackets": ("train: " + BRACKETS + "]" * 50_000, "nested more than 20 deep"),
    "braces": ("{a: " * 50_000, "nested more than 20 deep"),
    "laughs": (LAUGHS, "there are more than 10,000 values"),
    "digits": ("trainer: {epochs: " + "9" * 5000 + "}", "4300 digits"),
    "brackets in a text": (f"encoder: {{layers: '{BRACKETS}'}}", "nested more than 20 deep"),
    "no YAML": ("trainer: {\n  epochs: [1\n", "options.yaml:2: is not YAML: did not find expected"),
    "a constructor": ("!!python/object:os.system {}", "could not determine a constructor"),
    "large": ("# " + "x" * 1_000_001, "has more than 1,000,000 bytes"),
    "a number": ("trainer: 5", "trainer is 5; expected its options, as in trainer: {...}"),
    "a list": ("encoder: {fine_tuning: [1]}", "encoder.fine_tuning is [1]; expected its options"),
    "nothing": ("trainer: null", "trainer is None; expected its options"),
    "no text": ("output: 5", "output is 5; expected the name of a folder"),
    "no answer": ("resume: maybe", "resume is 'maybe'; expected true or false"),
    "no file": ("config: {x: 1}", "config is {'x': 1}; expected the name of a file"),
    "no model": ("initial_model: 3", "initial_model is 3; expected the name of a folder"),
    "twice": ("trainer: {epochs: 1, clip: 1, epochs: 2}", "'epochs' is given twice; keep one"),
    "empty": ("", "holds no options"),
    "no options": ("[1, 2]", "holds no options"),
    "an escape": ('"\\e[31mred": 3', "Option '�[31mred' is not accepted"),
}


HOSTILE = ["recursive alias", "brackets", "laughs"]


def written(name, folder):
    """The path of a file of options, and what is to be said of it."""
    text, message = TEXTS[name]
    path = folder / "options.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path), message


def assert_refused_in_one_line(code, out, err, message):
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in HOSTILE])
def test_a_file_is_refused_in_one_line(name, tmp_path, capsys):
    path, message = written(name, tmp_path)
    code = main(["train", "tag", "--config", path])
    assert_refused_in_one_line(code, *capsys.readouterr(), message)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(name, tmp_path):
    """In a process of its own, which may crash or hang."""
    path, message = written(name, tmp_path)
    program = [sys.executable, "-m", "strukt", "train", "tag", "--config", path]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert_refused_in_one_line(done.returncode, done.stdout, done.stderr, message)


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("--config", "train: a\nencoder: {kind: ä}\n".encode("latin-1"), ":2: byte 0xe4 is not UTF-8; convert"),
        ("--config", b"\xfe\xff\x00t", ":1: byte 0xfe is not UTF-8"),
        ("--encoder", "train: ä\n".encode("utf-16-le"), ":1: byte 0xe4 is not UTF-8; convert the file"),
    ],
)
def test_another_encoding_is_said(option, content, message, tmp_path, capsys):
    path = tmp_path / "options.yaml"
    path.write_bytes(content)
    assert main(["train", "tag", option, str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {path}{message}")
    assert main(["train", "tag", f"{option}={path}"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {path}{message}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_a_fifo_is_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "options.yaml").write_text(f"config: {tmp_path / 'fifo'}\n")
    for name in ("fifo", "options.yaml"):
        assert main(["train", "tag", "--config", str(tmp_path / name)]) == 2
        assert "fifo: is not a regular file" in capsys.readouterr().err


def test_a_file_that_another_one_names_is_looked_at_too(tmp_path, capsys):
    (tmp_path / "inner.yaml").write_text("trainer: 5\n")
    (tmp_path / "outer.yaml").write_text(f"config: {tmp_path / 'inner.yaml'}\n")
    assert main(["train", "tag", "--config", str(tmp_path / "outer.yaml")]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / 'inner.yaml'}: trainer is 5; expected")


def test_values_of_options_are_read_by_the_same_loader(capsys):
    assert main(["train", "tag", "--encoder", BRACKETS]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: --encoder")
    assert len(error) < 2100


@pytest.mark.parametrize("given", [["--encoder.layers", BRACKETS], [f"--encoder.layers={BRACKETS}"]])
def test_brackets_of_a_value_are_counted_before_they_are_read(given, capsys):
    assert main(["train", "tag", *given]) == 2
    assert "error: --encoder.layers: lists or mappings are nested more than 20 deep" in capsys.readouterr().err


def test_aliases_that_repeat_something_are_read():
    assert option_files.load("a: &a {x: [1, 2]}\nb: *a\nc: {<<: *a, y: &y 3}\nd: *y") == {
        "a": {"x": [1, 2]}, "b": {"x": [1, 2]}, "c": {"x": [1, 2], "y": 3}, "d": 3,
    }  # fmt: skip


def test_keys_may_come_again_in_other_mappings():
    text = "a: {x: 1}\nb: [{x: 1}, {x: 2}, {y: {x: 3}}]\nx: {a: 1, b: 2}"
    assert option_files.load(text)["b"][2] == {"y": {"x": 3}}


def test_the_limits_are_those_that_are_said():
    deepest = "[" * option_files.DEEPEST + "]" * option_files.DEEPEST
    assert isinstance(option_files.load(deepest), list)
    with pytest.raises(option_files.OptionsError, match="nested more than 20 deep"):
        option_files.load(f"[{deepest}]")
    most = ["1"] * (option_files.MOST_PARTS - 1)
    assert len(option_files.load(f"[{','.join(most)}]")) == len(most)
    with pytest.raises(option_files.OptionsError, match="more than 10,000 values"):
        option_files.load(f"[{','.join([*most, '1'])}]")
