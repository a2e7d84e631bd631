"""`strukt data`: what it lists, fetches, prints and refuses; and every corpus from a mirror of its public home."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.data.corpora.local_server import announcing, parts, pausing, serving, whole

from strukt.cli import configuration
from strukt.cli import data as command
from strukt.cli.main import main
from strukt.data import corpus
from strukt.data.corpora import treebanks
from strukt.data.corpora.conversions import SPLITS
from strukt.data.corpora.open_corpora import CORPORA
from strukt.data.files.digests import Digest

DATA = Path(__file__).parents[2] / "../shared/data"
ROOT = "/UniversalDependencies/UD_English-Tiny/r2.17/"
README = b"# Metadata\n\nLicense: CC BY-SA 4.0\nIncludes text: yes\n"

READERS = {
    "constituency": corpus.TREES,
    "ner": corpus.ENTITIES,
    "classify": corpus.CLASSES,
    "cogs": corpus.LOGICAL_FORMS,
    "listops": corpus.LISTS,
    "nli": corpus.PAIRS,
    "lm": corpus.TEXTS,
    "mlm": corpus.TEXTS,
}


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(command, "wait", lambda seconds, reason: None)
    with serving() as found:
        monkeypatch.setattr(treebanks, "RAW", found.address)
        yield found


@pytest.fixture
def tiny(site, treebank):
    """A treebank whose public home is the local server."""
    site.add(f"{ROOT}README.md", whole(README))
    for split in SPLITS:
        site.add(f"{ROOT}en_tiny-ud-{split}.conllu", parts(Path(getattr(treebank, split)).read_bytes()))
    return site


def test_the_list_has_every_corpus(capsys):
    assert main(["data", "list"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["corpus", *CORPORA, "UD_..."]
    assert all(str(CORPORA[row.split()[0]].licence) in row for row in rows[1:-1])
    assert rows[5].split() == ["cogs", "10.7", "cogs", "MIT"]


def test_a_treebank_is_fetched(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "get", "UD_English-Tiny"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    corpora = "--train UD_English-Tiny/en_tiny-ud-train.conllu --dev UD_English-Tiny/en_tiny-ud-dev.conllu"
    assert out.splitlines() == [
        "UD_English-Tiny: UD_English-Tiny, r2.17",
        "licence: CC BY-SA 4.0",
        "cite: see README.md",
        "recorded in UD_English-Tiny/SOURCE.json",
        f"train: strukt train dependency {corpora}",
        f"train: strukt train tag {corpora}",
        f"train: strukt train pipeline {corpora}",
    ]
    record = json.loads(Path("UD_English-Tiny/SOURCE.json").read_text())
    assert record["files"]["LICENSE.txt"] is None
    assert record["files"]["README.md"]["address"] == f"{tiny.address}{ROOT}README.md"

    tiny.requests.clear()
    capsys.readouterr()
    assert main(["data", "get", "UD_English-Tiny"]) == 0
    assert capsys.readouterr().out == out
    assert tiny.requests == []


def test_a_treebank_of_test_sentences_alone(tiny, tmp_path, capsys):
    for split in ("train", "dev"):
        tiny.answers.pop(f"{ROOT}en_tiny-ud-{split}.conllu")
    assert main(["data", "get", "UD_English-Tiny", "-o", str(tmp_path / "test only")]) == 0
    assert "strukt train" not in capsys.readouterr().out
    assert (tmp_path / "test only" / "en_tiny-ud-test.conllu").exists()


def test_folders_with_spaces_are_quoted(tiny, tmp_path, capsys):
    assert main(["data", "get", "UD_English-Tiny", "-o", str(tmp_path / "my data")]) == 0
    assert f"--train '{tmp_path}/my data'/en_tiny-ud-train.conllu" in capsys.readouterr().out


def test_versions_and_languages(tiny, tmp_path, capsys):
    home = "/UniversalDependencies/UD_Klingon-KT/r2.5/"
    tiny.add(f"{home}README.md", whole(README))
    tiny.add(f"{home}tlh_kt-ud-test.conllu", whole(b"x"))
    folder = str(tmp_path / "klingon")
    options = ["--version", "r2.5", "--language", "tlh", "-o", folder]
    assert main(["data", "get", "UD_Klingon-KT", *options]) == 0
    assert "UD_Klingon-KT, r2.5" in capsys.readouterr().out
    assert main(["data", "get", "UD_Klingon-KT", "--language", "tlh", "-o", folder]) == 2
    assert (
        "the folder holds UD_Klingon-KT, r2.5; give another one for UD_Klingon-KT, r2.17"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: ACTION"),
        (["fetch"], "unknown action 'fetch'; "),
        (["lsit"], "did you mean 'list'?"),
        (["list", "cogs"], "list takes no name; to download the corpus: strukt data get cogs"),
        (["list", "-o", "x"], "--output is for strukt data get; omit it"),
        (["get"], "get needs the name of a corpus; see: strukt data list"),
        (["get", "cog"], "unknown corpus 'cog'; did you mean 'cogs'?"),
        (
            ["get", "cogs", "--version", "2"],
            "--version is for treebanks such as UD_English-EWT, not for cogs",
        ),
        (["get", "cogs", "--language", "en"], "--language is for treebanks"),
        (["get", "UD_English"], "'UD_English' is not the name of a treebank"),
        (["get", "UD_English-Nothing"], "the server says 404 Not Found; check the name and the version"),
    ],
)
def test_what_cannot_be_fetched(arguments, message, site, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["data", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert (err.startswith("error: "), err.count("\n")) == (True, 1)


def test_a_wrong_file_is_one_line(site, tmp_path, monkeypatch, capsys):
    [file] = CORPORA["sentence-polarity"].files
    wrong = replace(file, address=site.add("/x.zip", whole(b"no")), expected=Digest("0" * 64))
    monkeypatch.setattr(command, "CORPORA", {"x": replace(CORPORA["sentence-polarity"], files=(wrong,))})
    assert main(["data", "get", "x", "-o", str(tmp_path / "x")]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {site.address}/x.zip: the server sent another file, with sha256 ")
    assert err.endswith(f"; expected sha256 {'0' * 64}\n")
    assert sorted(path.name for path in (tmp_path / "x").rglob("*")) == ["SOURCE.json", "source"]


def test_tries_are_told(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.undo()
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(treebanks, "RAW", tiny.address)
    monkeypatch.setattr(command.time, "sleep", lambda seconds: None)
    tiny.add(f"{ROOT}README.md", announcing(len(README), README[:5]), whole(README))
    assert main(["data", "get", "UD_English-Tiny", "-o", str(tmp_path / "tiny")]) == 0
    expected = f"warning: the connection broke off after 5 of {len(README)} bytes; next attempt in 1 s\n"
    assert capsys.readouterr().err == expected


def test_progress_is_a_line_on_a_terminal(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["data", "get", "UD_English-Tiny", "-o", str(tmp_path / "tiny")]) == 0
    lines = [line.split("\r")[-1] for line in capsys.readouterr().err.split("\n")]
    assert [line.split(":")[0] for line in lines] == [
        "README.md",
        *(f"en_tiny-ud-{split}.conllu" for split in SPLITS),
        "",
    ]
    assert lines[0] == "README.md: 0.0 of 0.0 MB"


def test_control_c_leaves_what_had_arrived(tiny, tmp_path):
    train = f"{ROOT}en_tiny-ud-train.conllu"
    content = b"x" * 300_000

    tiny.add(train, pausing(content, 200_000, 3, ETag='"1"'))
    program = (
        "import sys; from strukt.data.corpora import treebanks; from strukt.cli.main import main\n"
        f"treebanks.RAW = {tiny.address!r}\n"
        "sys.exit(main(['data', 'get', 'UD_English-Tiny']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        env={**os.environ, "no_proxy": "*"},
    )
    part = tmp_path / "UD_English-Tiny" / "en_tiny-ud-train.conllu.part"
    while not part.exists() or part.stat().st_size < 100_000:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"the downloaded part is kept; run the same command to continue\n")
    tiny.add(train, parts(content))
    tiny.requests.clear()
    assert main(["data", "get", "UD_English-Tiny", "-o", str(part.parent)]) == 0
    assert tiny.requests[0] == (train, f"bytes={tiny.requests[0][1][6:-1]}-")
    assert part.with_suffix("").read_bytes() == content


@pytest.mark.parametrize("training", [each for known in CORPORA.values() for each in known.commands])
def test_trainings_are_understood(training):
    task, *options = training.replace("{}", "folder").split()
    configuration.parse(task, options)


def snli_archive():
    row = {"gold_label": "neutral", "sentence1": "A man sleeps.", "sentence2": "He dreams."}
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for split in SPLITS:
            archive.writestr(f"snli_1.0/snli_1.0_{split}.jsonl", json.dumps(row) + "\n")
    return stream.getvalue()


def polarity_archive():
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for suffix in ("neg", "pos"):
            name = f"rt-polarity.{suffix}"
            archive.writestr(
                f"sentence_polarity/{name}",
                gzip.decompress((DATA / f"sentence-polarity/{name}.gz").read_bytes()),
            )
    return stream.getvalue()


FOLDERS = {"litbank": "litbank-entities/tsv"}


def public(name, file):
    """The content of a file of a corpus as it is published, from the copies for offline use."""
    if file.path.endswith(".zip"):
        return snli_archive() if name == "snli" else polarity_archive()
    if file.is_optional:
        return None
    path = DATA / FOLDERS.get(name, name) / file.path.removeprefix("source/")
    zipped = path.with_name(path.name + ".gz")
    content = gzip.decompress(zipped.read_bytes()) if zipped.exists() else path.read_bytes()
    # The published file has this one character as two surrogates of three bytes each.
    return (
        content.replace("\U0001f355".encode(), b"\xed\xa0\xbc\xed\xbd\x95")
        if "train_PlayMusic" in file.path
        else content
    )


@pytest.mark.skipif(not DATA.exists(), reason="the copies of the corpora for offline use are not here")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "gum" else name for name in CORPORA]
)
def test_every_corpus_arrives_and_is_read(name, site, tmp_path, monkeypatch, capsys):
    known = CORPORA[name]
    mirrored = []
    for file in known.files:
        content = public(name, file)
        path = urlsplit(file.address).path
        if content is not None:
            site.add(path, parts(content))
        expected = None if name == "snli" else file.expected  # what is served for it is not the real one
        mirrored.append(replace(file, address=site.address + path, expected=expected))
    monkeypatch.setattr(command, "CORPORA", {name: replace(known, files=tuple(mirrored))})
    monkeypatch.chdir(tmp_path)
    assert main(["data", "get", name]) == 0
    out = capsys.readouterr().out
    assert f"licence: {known.licence}\n" in out
    assert out.count("train: ") == len(known.commands)
    for training in known.commands:
        task, _, train, _, dev, *_ = training.replace("{}", name).split()
        for path in (train, dev):
            first = next(corpus.read_annotated(path, readers=READERS.get(task, corpus.WORDS)))
            assert first.forms
