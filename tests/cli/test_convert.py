"""`strukt convert`: what it writes, what it refuses, and that it leaves nothing behind where it fails."""

import gzip
import io
import os
import sys

import pytest
from tests.tiny_corpora import CONLL_2003

from strukt.cli.main import main

BIO = "EU\tB-ORG\nrejects\tO\nGerman\tB-MISC\ncall\tO\n\nParis\tB-LOC\nLondon\tB-LOC\nBridge\tI-LOC\n\n"
BIOES = "EU\tS-ORG\nrejects\tO\nGerman\tS-MISC\ncall\tO\n\nParis\tS-LOC\nLondon\tB-LOC\nBridge\tE-LOC\n\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eng.train").write_text(CONLL_2003)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], BIO),
        (["--from", "iob1"], BIO),
        (["--from=IOB1", "--to=IOBES"], BIOES),
        (["--to", "bioes"], BIOES),
    ],
)
def test_conll_2003_is_rewritten(folder, options, expected, capsys):
    assert main(["convert", "eng.train", "-o", "out.tsv", *options]) == 0
    assert (folder / "out.tsv").read_text() == expected
    target = "BIO" if expected == BIO else "BIOES"
    assert capsys.readouterr() == ("", f"IOB1 converted to {target}: out.tsv\n")


def test_what_is_written_passes_the_check_and_comes_back(folder, capsys):
    for source, target, scheme in (("eng.train", "a.tsv", "bilou"), ("a.tsv", "b.tsv", "bio")):
        assert main(["convert", source, "-o", target, "--to", scheme]) == 0
    assert (folder / "b.tsv").read_text() == BIO
    assert main(["check", "ner", "a.tsv"]) == 2
    assert main(["check", "ner", "b.tsv"]) == 0
    assert "type  LOC 2, ORG 1, MISC 1" in capsys.readouterr().out


def test_a_dash_is_standard_output(folder, capsys):
    assert main(["convert", "eng.train", "-o", "-"]) == 0
    assert capsys.readouterr() == (BIO, "IOB1 converted to BIO: standard output\n")
    assert os.listdir(folder) == ["eng.train"]


def test_gzip_and_standard_input(folder, monkeypatch):
    packed = gzip.compress(CONLL_2003.encode(), mtime=0)
    (folder / "eng.gz").write_bytes(packed)
    assert main(["convert", "eng.gz", "-o", "one.tsv"]) == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert main(["convert", "-", "-o", "two.tsv"]) == 0
    assert (folder / "one.tsv").read_text() == (folder / "two.tsv").read_text() == BIO


@pytest.mark.parametrize("source", [[], ["--from", "bio"]])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "bad: the file holds no sentence"),
        (b"a O\n\nb\n\n", "bad:3: expected a word and its tag, found one column"),
        (b"a O\n\nb NOUN\n\n", "bad:3: "),
        (b"a O\n\nb O\nM\xfcnchen I-LOC\n\n", "bad:4: byte 2 of the line, 0xfc, is not UTF-8"),
        (gzip.compress(b"a O\n\nb O\n\n" * 99, mtime=0)[:-9], "the compressed file is damaged or cut short"),
    ],
)
def test_what_cannot_be_read_leaves_nothing_behind(folder, content, message, source, capsys):
    (folder / "bad").write_bytes(content)
    assert main(["convert", "bad", "-o", "out.tsv", *source]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: bad")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(os.listdir(folder)) == ["bad", "eng.train"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eng.train"], "the following arguments are required: -o/--output"),
        (["missing", "-o", "out"], "missing: there is no such file"),
        ([".", "-o", "out"], ".: is a directory"),
        (["eng.train", "-o", "eng.train", "--force"], "eng.train is both input and output"),
        (["eng.train", "-o", "out.gz"], "out.gz: the output is not compressed"),
        (["eng.train", "-o", "no/out"], "no/out: cannot be written"),
        (["eng.train", "-o", "out", "--from", "bio"], "eng.train:3: the sentence begins with I-ORG, which breaks"),
        (["eng.train", "-o", "out", "--to", "IOE"], "argument --to: scheme is 'IOE'; expected one of BIO, IOB1"),
    ],
)
def test_what_is_refused(folder, arguments, message, capsys):
    assert main(["convert", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert (err.startswith("error: "), err.count("\n")) == (True, 1)
    assert os.listdir(folder) == ["eng.train"]
    assert (folder / "eng.train").read_text() == CONLL_2003


def test_a_file_that_is_there_is_kept_unless_it_is_forced(folder, capsys):
    (folder / "out.tsv").write_text("old")
    assert main(["convert", "eng.train", "-o", "out.tsv"]) == 2
    assert "out.tsv exists already; add --force" in capsys.readouterr().err
    assert (folder / "out.tsv").read_text() == "old"
    assert main(["convert", "eng.train", "-o", "out.tsv", "--force"]) == 0
    assert (folder / "out.tsv").read_text() == BIO


@pytest.mark.parametrize("text", [CONLL_2003, "EU\tI-ORG\n\n", "EU\tS-ORG\n\n", "EU\tNNP\tI-NP\tI-ORG\n\n"])
def test_messages_of_check_and_train_name_the_command(folder, text, capsys):
    (folder / "bad.tsv").write_text(text)
    assert main(["check", "ner", "bad.tsv"]) == 2
    assert "bad.tsv:1: " in (out := capsys.readouterr().out)
    assert "run `strukt convert`" in out
    assert main(["train", "ner", "--train", "bad.tsv", "--dev", "bad.tsv", "-o", "model"]) == 2
    assert "run `strukt convert`" in capsys.readouterr().err
