"""Formats by name and by the end of the file name."""

import io

import pytest

from strukt.data import columns, conllu, corpus
from strukt.errors import DataError


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("en_ewt-ud-train.conllu", "conllu"),
        ("en_ewt-ud-train.conllu.gz", "conllu"),
        ("A.CONLLU", "conllu"),
        ("wnut17train.conll.gz", "columns"),
        ("emerging.test.annotated", "columns"),
        ("ner.bio", "columns"),
        ("GUM_academic_art.ptb", "brackets"),
        ("entities.jsonl", "jsonl"),
        ("a.b.txt", "text"),
    ],
)
def test_format_of_a_name(name, expected):
    assert corpus.format_of(name) == expected


@pytest.mark.parametrize("name", ["corpus", "corpus.xml", "conllu"])
def test_unknown_name(name):
    with pytest.raises(
        DataError,
        match="its name does not tell the format; state one of: conllu, columns, brackets, jsonl, text",
    ):
        corpus.read(name)


def test_read_by_name_and_by_format(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("Ada\tB-PER\n\n")
    [by_name] = corpus.read(path)
    [by_format] = corpus.read(io.BytesIO(b"Ada\tB-PER\n\n"), "columns")
    assert isinstance(by_name, columns.Sentence)
    assert by_name == by_format
    [as_text] = corpus.read(path, "text")
    assert isinstance(as_text, conllu.Sentence)


def test_standard_input_with_a_format(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"It works\n")))
    [sentence] = corpus.read("-", "text")
    assert sentence.forms == ["It", "works"]
    assert sentence.path == "<stdin>"


def test_unknown_format():
    with pytest.raises(
        ValueError, match="format: there is no 'xml'; choose one of conllu, columns, brackets, jsonl, text"
    ):
        corpus.read("a.conllu", "xml")


@pytest.mark.parametrize("format", corpus.FORMATS)
def test_missing_file_in_every_format(format, tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        list(corpus.read(tmp_path / "no", format))
