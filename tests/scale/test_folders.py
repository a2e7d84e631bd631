"""Prediction into a folder: the parts are the whole, a later run goes on, and nothing else is mixed in."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from tests import tiny_corpora
from tests.scale.commands import parts, predict, text, together, whole

from strukt.data.conllu import entity_notes
from strukt.train.model_folder import GRAPHS

SIZE = ("--shard_size", 300)
OPENED = re.compile(r"\((e[^-]+)-")
"""An opening bracket of a mention, with its identifier."""


@pytest.fixture
def corpus(tmp_path, words):
    return text(tmp_path / "corpus.txt", words)


def test_text(tagger, corpus, tmp_path):
    assert predict(tagger, corpus, "-o", f"{tmp_path}/out/", *SIZE) == 0
    names = [path.name for path in parts(tmp_path / "out")]
    assert len(names) > 3
    assert names == [f"part-{number:05}.conllu" for number in range(len(names))]
    assert together(tmp_path / "out") == whole(tagger, corpus)
    assert {*os.listdir(tmp_path / "out")} == {*names, "_manifest.json"}


def test_conllu_with_comments(tagger, tmp_path):
    path = tmp_path / "corpus.conllu"
    path.write_text("".join(f"# sent_id = {n}\n{each}" for n, each in enumerate(tiny_corpora.trees(30))))
    predict(tagger, path, "-o", f"{tmp_path}/out/", "--shard_size", 1000, "--probabilities")
    assert len(parts(tmp_path / "out")) > 3
    assert together(tmp_path / "out") == whole(tagger, path, "--probabilities")


def test_json_lines(ner, tmp_path):
    path = tmp_path / "corpus.jsonl"
    tiny_corpora.write(tiny_corpora.nested(30), path)
    predict(ner, path, "-o", f"{tmp_path}/out/", *SIZE)
    assert len(parts(tmp_path / "out")) > 3
    assert {path.suffix for path in parts(tmp_path / "out")} == {".jsonl"}
    assert together(tmp_path / "out") == whole(ner, path)


def test_identifiers_of_entities_stay_different(ner, tmp_path):
    """CoNLL-U with entities is one shard: they are named after lines of the file."""
    path = tmp_path / "corpus.conllu"
    tiny_corpora.write(tiny_corpora.trees(20), path)
    predict(ner, path, "-o", f"{tmp_path}/out/", *SIZE)
    assert len(parts(tmp_path / "out")) == 1
    assert together(tmp_path / "out") == whole(ner, path)


def test_identifiers_of_entities_in_text_differ_between_parts(pipeline, tmp_path):
    """Otherwise mentions of different parts would be coreferent where the parts are concatenated."""
    path = text(tmp_path / "corpus.txt", [each.forms for each in tiny_corpora.layers(20)])
    predict(pipeline, path, "-o", f"{tmp_path}/out/", *SIZE)
    assert len(parts(tmp_path / "out")) > 1
    names = [{*OPENED.findall(part.read_text())} for part in parts(tmp_path / "out")]
    assert sum(map(len, names)) == len(set.union(*names)) > 20
    for part in parts(tmp_path / "out"):
        assert list(entity_notes.read(part))


@pytest.mark.parametrize("name", ["trees.ptb", "trees.txt"])
def test_trees(constituency, corpus, tmp_path, name):
    path = tmp_path / name
    if path.suffix == ".ptb":
        tiny_corpora.write(tiny_corpora.phrases(30), path)
    else:
        corpus.rename(path)
    predict(constituency, path, "-o", f"{tmp_path}/out/", *SIZE)
    assert len(parts(tmp_path / "out")) > 3
    assert {path.suffix for path in parts(tmp_path / "out")} == {".ptb"}
    assert together(tmp_path / "out") == whole(constituency, path)


def test_several_files_one_of_them_compressed(tagger, corpus, tmp_path, words):
    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress(corpus.read_bytes()))
    predict(tagger, packed, corpus, "-o", f"{tmp_path}/out/", *SIZE)
    first, *others = parts(tmp_path / "out")
    assert first.read_bytes() == whole(tagger, corpus) == b"".join(path.read_bytes() for path in others)


def test_the_n_shards_together_are_the_whole(tagger, corpus, tmp_path, capsys):
    seen = set()
    for number in (3, 1, 2):
        assert predict(tagger, corpus, "-o", tmp_path / "out", *SIZE, "--shard", f"{number}/3") == 0
        now = {path.name for path in parts(tmp_path / "out")}
        assert seen < now
        seen = now
    assert together(tmp_path / "out") == whole(tagger, corpus)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"{len(seen)} of {len(seen)} parts are in {tmp_path}/out"


def test_a_second_run_does_nothing(tagger, corpus, tmp_path, capsys):
    arguments = (corpus, "-o", f"{tmp_path}/out/", *SIZE)
    predict(tagger, *arguments)
    before = [path.stat().st_mtime_ns for path in parts(tmp_path / "out")]
    os.remove(parts(tmp_path / "out")[2])
    predict(tagger, *arguments)
    after = [path.stat().st_mtime_ns for path in parts(tmp_path / "out")]
    assert [old == new for old, new in zip(before, after, strict=True)].count(False) == 1
    assert after[2] > before[2]
    assert "1 of 1 shards" in capsys.readouterr().err


def _touched(path, tagger):
    os.utime(path, ns=(0, 1))
    return (tagger, path)


def _longer(path, tagger):
    path.write_text(path.read_text() + "one more\n")
    return (tagger, path)


def _other_model(path, tagger):
    model = path.with_name("model")
    model.mkdir()
    for name in ("config.json", "vocabularies.json", "weights.safetensors", "format.json"):
        (model / name).write_bytes(Path(tagger, name).read_bytes())
    tensors = bytearray((model / "weights.safetensors").read_bytes())
    tensors[-1] ^= 1
    (model / "weights.safetensors").write_bytes(tensors)
    return (model, path)


def _other_precision(path, tagger):
    model = _other_model(path, tagger)[0]
    (model / "weights.safetensors").write_bytes(Path(tagger, "weights.safetensors").read_bytes())
    (model / GRAPHS).mkdir()
    (model / GRAPHS / "words.onnx").write_bytes(b"int8")
    return (model, path)


def _more_files(path, tagger):
    return (tagger, path, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_touched, "corpus.txt as it was before it changed"),
        (_longer, "corpus.txt as it was before it changed"),
        (_other_model, "another model"),
        (_other_precision, "another model"),
        (_more_files, "corpus.txt, and now they are"),
        (lambda path, tagger: (tagger, path, "--probabilities"), "--probabilities False, and now it is True"),
        (
            lambda path, tagger: (tagger, path, "--format", "conllu"),
            "corpus.txt as text, and now it is conllu",
        ),
    ],
)
def test_other_arguments_are_refused(tagger, corpus, tmp_path, capsys, change, message):
    predict(tagger, corpus, "-o", f"{tmp_path}/out/")
    before = together(tmp_path / "out")
    capsys.readouterr()
    assert predict(*change(corpus, tagger), "-o", f"{tmp_path}/out/") == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {tmp_path}/out: was begun with ")
    assert message in err
    assert together(tmp_path / "out") == before


def test_a_copy_of_the_model_is_the_same(tagger, corpus, tmp_path):
    model, _ = _other_model(corpus, tagger)
    (model / "weights.safetensors").write_bytes(Path(tagger, "weights.safetensors").read_bytes())
    for folder in (tagger, model):
        assert predict(folder, corpus, "-o", f"{tmp_path}/out/") == 0


def test_another_version_is_refused(tagger, corpus, tmp_path, capsys):
    predict(tagger, corpus, "-o", f"{tmp_path}/out/")
    manifest = tmp_path / "out" / "_manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"strukt": "0.0.1"}))
    assert predict(tagger, corpus, "-o", f"{tmp_path}/out/") == 2
    assert "was begun with strukt 0.0.1, and this is strukt " in capsys.readouterr().err


@pytest.mark.parametrize("content", ["[]", "{", '{"strukt": "1"}'])
def test_a_manifest_of_something_else(tagger, corpus, tmp_path, capsys, content):
    (tmp_path / "_manifest.json").write_text(content)
    assert predict(tagger, corpus, "-o", tmp_path) == 2
    assert "_manifest.json" in capsys.readouterr().err
    assert parts(tmp_path) == []


def test_parts_without_a_manifest_are_left_alone(tagger, corpus, tmp_path, capsys):
    (tmp_path / "part-00000.conllu").write_text("mine")
    assert predict(tagger, corpus, "-o", tmp_path) == 2
    assert "holds parts, but no _manifest.json" in capsys.readouterr().err
    assert together(tmp_path) == b"mine"


def test_a_broken_line_is_named_and_the_others_go_on(tagger, tmp_path, capsys):
    path = tmp_path / "broken.conllu"
    good = "".join(map(str, tiny_corpora.trees(20)))
    path.write_text(good + "1\tx\n\n" + good)
    line = good.count("\n") + 1
    assert predict(tagger, path, "-o", f"{tmp_path}/out/", "--shard_size", 500) == 2
    *_, first, error, summary = capsys.readouterr().err.splitlines()
    there, count = first.split()[0], first.split()[2]
    assert int(there) == int(count) - 1
    assert f": {path}:{line}: " in error
    assert error.startswith("error: part-0")
    assert summary.startswith(f"1 of {count} shards failed; ")
    assert not [name for name in os.listdir(tmp_path / "out") if name.startswith(".")]


def test_repairs_are_told_once(tagger, tmp_path, capsys):
    path = tmp_path / "windows.txt"
    path.write_bytes(b"the cat sees a dog\r\n" * 40)
    predict(tagger, path, "-o", f"{tmp_path}/out/", *SIZE)
    assert len(parts(tmp_path / "out")) > 2
    assert capsys.readouterr().err.count(f"warning: {path}:1: the lines end in CRLF") == 1


@pytest.mark.slow  # a process that has to be killed at work
def test_a_kill_loses_only_what_was_being_done(tagger, tmp_path, words):
    path = text(tmp_path / "corpus.txt", words * 60)
    out = tmp_path / "out"
    arguments = [str(path), "-o", f"{out}/", "--shard_size", "20000"]
    process = subprocess.Popen([sys.executable, "-m", "strukt", "predict", tagger, *arguments])
    deadline = time.monotonic() + 120
    while not (begun := [part for part in out.glob(".part-00001*") if part.stat().st_size]):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait(120)
    assert begun[0].name.endswith(f".{process.pid}")
    assert not (out / "part-00001.conllu").exists()
    first = (out / "part-00000.conllu").stat().st_mtime_ns
    assert predict(tagger, *arguments) == 0
    assert (out / "part-00000.conllu").stat().st_mtime_ns == first
    assert together(out) == whole(tagger, path)
    assert not list(out.glob(".part*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out/", "--shard", "4/3"], "--shard is 4/3; expected I/N with I from 1 to N"),
        (["-o", "out/", "--shard", "0/3"], "--shard is 0/3"),
        (["-o", "out/", "--shard", "2"], "--shard is 2;"),
        (["-o", "out/", "--shard", "1/" + "9" * 5000], "expected I/N with I from 1 to N"),
        (["-o", "out/", "--shard_size", "0"], "--shard_size is 0; expected 1 or more"),
        (["-o", "out/", "--workers", "2"], "--workers is only used with --engine ray"),
        (["-o", "out/", "--engine", "ray", "--cpus", "0"], "--cpus is 0; expected a positive whole number"),
        (["-o", "out/", "--gpus", "1.5"], "--gpus is 1.5; expected a positive whole number"),
        (["--engine", "ray"], "--engine needs an output folder; give one with -o FOLDER/"),
        (["-o", "corpus.txt", "--shard", "1/2"], "--shard needs an output folder"),
        (["-o", "out/", "--infill"], "--infill needs a language model"),
    ],
)
def test_arguments_that_cannot_be(tagger, corpus, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert predict(tagger, "corpus.txt", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not os.path.exists("out")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_told(tagger, corpus, tmp_path, capsys):
    assert predict(tagger, corpus, "-o", tmp_path / "out", "--gpus", "1") == 2
    assert "PyTorch finds no GPU" in capsys.readouterr().err


def test_standard_input_and_pipes_are_not_cut(tagger, tmp_path, capsys):
    assert predict(tagger, "-", "-o", f"{tmp_path}/out/") == 2
    assert "standard input cannot be split into shards; give files" in capsys.readouterr().err
    os.mkfifo(tmp_path / "pipe.txt")
    assert predict(tagger, tmp_path / "pipe.txt", "-o", f"{tmp_path}/out/") == 2
    assert "is not a regular file" in capsys.readouterr().err
