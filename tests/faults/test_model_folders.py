"""Damaged and hostile model folders: one line, exit code 2, and nothing hangs."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests import tiny_corpora

from strukt.cli.main import main
from strukt.errors import DataError
from strukt.tasks.dependency.model import Parser
from strukt.train import saved_model

SENTENCES = tiny_corpora.trees(6)
JSON_FILES = ("config.json", "vocabularies.json", "format.json")
FILES = (*JSON_FILES, "weights.safetensors")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("whole") / "model"
    saved_model.save(Parser.from_corpus(tiny_corpora.dependency_config(), SENTENCES), folder)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return tiny_corpora.write(SENTENCES[:2], tmp_path_factory.mktemp("corpus") / "corpus.conllu")


def test_a_name_that_is_not_utf_8_is_refused(model, corpus, tmp_path, capsys):
    """The libraries that read weights take no other names."""
    folder = shutil.copytree(model, tmp_path / os.fsdecode(b"m\xff"))
    assert main(["predict", str(folder), corpus]) == 2
    err = capsys.readouterr().err
    assert err.endswith("has a name that is not UTF-8, which a folder of a model needs; rename it\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        saved_model.save(saved_model.load(model), folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in model.iterdir())


@pytest.fixture
def damaged(model, tmp_path):
    return shutil.copytree(model, tmp_path / "model")


@pytest.fixture
def refused(corpus, damaged, capsys):
    """Says in which one line the damaged model is refused."""

    def predict() -> str:
        assert main(["predict", str(damaged), corpus]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert "\x1b" not in err
        assert len(err) < 2100
        return err

    return predict


def test_the_whole_model_predicts(damaged, corpus, capsys):
    assert main(["predict", str(damaged), corpus]) == 0


def change_weights(folder, change):
    path = folder / "weights.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def with_one(value):
    def change(tensors):
        name = next(name for name, tensor in tensors.items() if tensor.is_floating_point())
        tensors[name].view(-1)[0] = value

    return change


def of_type(dtype):
    def change(tensors):
        tensors.update({name: tensor.to(dtype) for name, tensor in tensors.items()})

    return change


def first(change):
    def changed(tensors):
        name = next(iter(tensors))
        tensors[name] = change(tensors[name])

    return changed


WEIGHTS = {
    "NaN": (with_one(float("nan")), "has NaN among its numbers"),
    "inf": (with_one(float("inf")), "has weights beyond 1e+09"),
    "-inf": (with_one(-float("inf")), "has weights beyond 1e+09"),
    "immense": (with_one(-3e38), "has weights beyond 1e+09"),
    **{
        str(dtype): (of_type(dtype), "is of type")
        for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int8, torch.bool)
    },
    "complex": (of_type(torch.complex64), "is of type complex64; expected float32"),
    "one missing": (lambda tensors: tensors.pop(next(iter(tensors))), "does not fit"),
    "one more": (lambda tensors: tensors.update(x=torch.ones(2)), "does not fit"),
    "none": (lambda tensors: tensors.clear(), "weights.safetensors has"),
    "a row": (first(lambda tensor: tensor[:1].clone()), "does not fit"),
    "a scalar": (first(lambda tensor: tensor.sum()), "does not fit"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights(name, damaged, refused):
    change, message = WEIGHTS[name]
    change_weights(damaged, change)
    error = refused()
    assert "weights.safetensors" in error
    assert message in error


TEXTS = {
    "brackets": "[" * 100_000,
    "closed objects": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "null": "null",
    "a list": "[]",
    "a number": "3",
    "text": '"x"',
    "nothing": "",
    "a byte order mark": "\ufeff{}",
    "many digits": '{"format": ' + "9" * 6000 + "}",
    "no number": '{"format": NaN}',
    "half a character": '{"format": "\\ud800"}',
}


@pytest.mark.thinned("file", "name")
@pytest.mark.parametrize("file", JSON_FILES)
@pytest.mark.parametrize("name", TEXTS)
def test_contents_of_json_files(name, file, damaged, refused):
    (damaged / file).write_text(TEXTS[name], encoding="utf-8")
    error = refused()
    assert str(damaged) in error
    assert file in error


def test_latin_1(damaged, refused):
    (damaged / "config.json").write_bytes(b'{"task": "\xe4"}')
    assert "config.json: is damaged" in refused()


@pytest.mark.parametrize("version", [0, -1, 99, "1", None, 1.0, True, [], {}, 10**30])
def test_versions_of_the_format(version, damaged, refused):
    (damaged / "format.json").write_text(json.dumps({"format": version, "strukt": "\x1b[31m9\n"}))
    assert "format" in refused()


OPTIONS = [
    ("encoder.layers", "x"), ("encoder.layers", -1), ("encoder.layers", 0), ("encoder.layers", 2.5),
    ("encoder.layers", None), ("encoder.layers", True), ("encoder.layers", 10**9), ("encoder.hidden", 10**12),
    ("encoder.hidden", 10**30), ("encoder.hidden", "16"), ("encoder.words", 10**9), ("encoder.kind", "x"),
    ("encoder.kind", 3), ("encoder.kind", []), ("encoder.kind", "pretrained"), ("encoder", []),
    ("encoder", None), ("encoder", "x"), ("encoder.dropout", 5), ("encoder.dropout", "x"),
    ("encoder.dropout", float("nan")), ("encoder.dropout", None), ("encoder.character_size", 0),
    ("encoder.character_size", 95), ("encoder.affixes", -1), ("encoder.affixes", 10**12),
    ("encoder.normalise", "x"), ("encoder.pt", []), ("encoder.pt", {"x": 1}), ("optimizer", 3),
    ("trainer", None), ("trainer.tokens", 0), ("trainer.tokens", "x"), ("criterion", "x"),
    ("criterion", []), ("trees", 3), ("arc_size", 0), ("arc_size", "x"), ("arc_size", 10**12),
    ("label_size", None), ("train", 3), ("unknown", 3), ("encoder.unknown", {"a": {}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), OPTIONS, ids=lambda part: str(part)[:30])
def test_options(name, value, damaged, refused):
    content = json.loads((damaged / "config.json").read_text())
    part = content["options"]
    *groups, last = name.split(".")
    for group in groups:
        part = part[group]
    part[last] = value
    (damaged / "config.json").write_text(json.dumps(content))
    assert str(damaged) in refused()


@pytest.mark.parametrize("task", ["nothing", 3, None, [], {}, "tag", "\x1b[31mred", "../x"])
def test_tasks(task, damaged, refused):
    content = json.loads((damaged / "config.json").read_text())
    (damaged / "config.json").write_text(json.dumps(content | {"task": task}))
    refused()


SYMBOLS = {
    "none": lambda symbols: [],
    "null": lambda symbols: None,
    "an object": lambda symbols: {},
    "numbers": lambda symbols: [1, 2],
    "one twice": lambda symbols: symbols + symbols[:1],
    "one missing": lambda symbols: symbols[:-1],
    "an end of line": lambda symbols: [*symbols[:-1], "a\n\x1b[31m"],
    "half a character": lambda symbols: [*symbols[:-1], "\ud800"],
}


@pytest.mark.thinned("vocabulary", "name")
@pytest.mark.parametrize("vocabulary", ["words", "characters", "labels"])
@pytest.mark.parametrize("name", SYMBOLS)
def test_vocabularies(name, vocabulary, damaged, refused):
    content = json.loads((damaged / "vocabularies.json").read_text())
    content[vocabulary] = SYMBOLS[name](content[vocabulary])
    (damaged / "vocabularies.json").write_text(json.dumps(content))
    refused()


@pytest.mark.parametrize("vocabulary", ["words", "characters", "suffix3"])
def test_vocabularies_without_the_symbols_that_inputs_need(vocabulary, damaged, refused):
    content = json.loads((damaged / "vocabularies.json").read_text())
    content[vocabulary] = [f"y{number}" for number in range(len(content[vocabulary]))]
    (damaged / "vocabularies.json").write_text(json.dumps(content))
    assert f"the vocabulary {vocabulary} does not begin with <pad> and <unk>" in refused()


def folder(path):
    path.mkdir()


def dangling_link(path):
    path.symlink_to("nowhere")


def looping_link(path):
    path.symlink_to(path.name)


def empty_device(path):
    path.symlink_to(os.devnull)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("put", [folder, dangling_link, looping_link, empty_device, lambda path: None])
def test_what_is_no_file(put, file, damaged, refused):
    (damaged / file).unlink()
    put(damaged / file)
    assert file in refused()


def fifo(path):
    os.mkfifo(path)


def endless_device(path):
    path.symlink_to("/dev/zero")


@pytest.mark.slow  # a process that waits
@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="this system has no FIFOs or devices")
def test_what_never_ends_is_not_waited_for(model, tmp_path):
    """In a process of its own, which may hang."""
    paths = []
    for put in (fifo, endless_device):
        for file in FILES:
            folder = shutil.copytree(model, tmp_path / f"{put.__name__}-{file}")
            (folder / file).unlink()
            put(folder / file)
            paths.append(folder / file)
    program = """
import sys
from pathlib import Path
from strukt.errors import DataError
from strukt.train import saved_model
for path in sys.argv[1:]:
    try:
        saved_model.load(Path(path).parent)
    except DataError as error:
        print(error)
"""
    arguments = [sys.executable, "-c", program, *map(str, paths)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [
        f"{path}: is not a regular file; restore it from a copy" for path in paths
    ]


@pytest.mark.parametrize("command", ["predict", "evaluate", "show", "card"])
def test_names_that_are_too_long(command, corpus, capsys):
    name = "m" * 300
    assert main([command, name, *([] if command == "card" else [corpus])]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"error: {name}")


def test_corpora_and_outputs_whose_names_are_too_long(model, corpus, capsys):
    name = "m" * 300 + ".conllu"
    for arguments in ([name], [corpus, "-o", name]):
        assert main(["predict", str(model), *arguments]) == 2
        assert capsys.readouterr().err.startswith(f"error: {name}: ")
