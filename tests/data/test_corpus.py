"""Formats by name and by the end of the file name."""

import io

import pytest

from strukt.data import brackets, columns, conllu, corpus
from strukt.data.conllu import entity_notes
from strukt.data.logical_forms import cogs
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


@pytest.mark.parametrize(
    ("name", "formats", "expected"),
    [
        ("train.tsv.gz", corpus.LOGICAL_FORMS, "cogs"),
        ("train.tsv", corpus.CLASSES, "labelled"),
        ("train.tsv", corpus.PAIRS, "pairs"),
        ("train.tsv", corpus.LISTS, "listops"),
        ("train.tsv", ["conllu", "columns", "cogs"], "columns"),  # the first that the name may stand for
        ("train.tsv", ["brackets"], "columns"),
        ("train.conllu", ["cogs", "text"], "conllu"),
        ("-", ["cogs", "text"], "cogs"),
    ],
)
def test_what_is_read_for_decides_what_a_name_means(name, formats, expected):
    assert corpus.format_of(name, formats) == expected


@pytest.mark.parametrize("name", ["corpus", "corpus.xml", "conllu"])
def test_unknown_name(name):
    known = ", ".join(corpus.FORMATS)
    with pytest.raises(DataError, match=f"its name does not determine the format; give one of: {known}"):
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


def test_unknown_format():
    known = ", ".join(corpus.FORMATS)
    with pytest.raises(ValueError, match=f"format: there is no 'xml'; choose one of {known}"):
        corpus.read("a.conllu", "xml")


READERS = {
    "words": corpus.WORDS,
    "heads": corpus.HEADS,
    "trees": corpus.TREES,
    "entities": corpus.ENTITIES,
    "logical forms": corpus.LOGICAL_FORMS,
    "classes": corpus.CLASSES,
    "pairs": corpus.PAIRS,
    "lists": corpus.LISTS,
}
EVERY_READER = [(name, format) for name, readers in READERS.items() for format in readers]


def test_every_format_is_read_for_something():
    meant = {format for formats in corpus.SUFFIXES.values() for format in formats}
    assert {format for _, format in EVERY_READER} == set(corpus.FORMATS) == meant


def test_missing_file_in_every_format(tmp_path):
    for name, format in EVERY_READER:
        with pytest.raises(DataError, match="there is no such file"):
            list(corpus.read(tmp_path / "no", format, READERS[name]))


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        ("words", "a.ptb", "a.ptb: has the format brackets; expected one of conllu, columns, text"),
        ("trees", "a.jsonl.gz", "a.jsonl.gz: has the format jsonl; expected one of brackets, conllu, text"),
        ("logical forms", "a.bio", "a.bio: has the format columns; expected one of cogs, text"),
        ("entities", "a.mrg", "a.mrg: has the format brackets; expected one of conllu, columns, jsonl"),
    ],
)
def test_a_format_that_is_read_for_something_else(name, path, message):
    with pytest.raises(DataError) as caught:
        corpus.read(path, readers=READERS[name])
    assert str(caught.value).startswith(message)


def test_only_formats_with_annotation_are_expected_of_a_corpus_to_learn_from():
    with pytest.raises(DataError, match=r"a\.ptb: has the format brackets; expected conllu$"):
        corpus.read_annotated("a.ptb", readers=corpus.HEADS)
    with pytest.raises(DataError, match=r"a\.ptb: has the format brackets; expected one of conllu, columns$"):
        corpus.read_annotated("a.ptb", readers=corpus.WORDS)
    with pytest.raises(DataError, match=r"has the format columns; expected one of text, conllu, brackets$"):
        corpus.read_annotated("a.tsv", readers=corpus.TEXTS)


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("words", b"1\tGo\t_\t_\t_\t_\t_\t_\t_\t_\n\n", conllu.Sentence),
        ("trees", b"(S (VB Go))\n", brackets.Sentence),
        ("entities", b"1\tGo\t_\t_\t_\t_\t_\t_\t_\t_\n\n", entity_notes.Sentence),
        ("logical forms", b"Go\tGo\n", cogs.Sentence),
    ],
)
def test_standard_input_has_the_first_format(name, content, format, monkeypatch):
    for read in (corpus.read, corpus.read_annotated):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        [sentence] = read("-", readers=READERS[name])
        assert isinstance(sentence, format)
        assert sentence.forms == ["Go"]


@pytest.mark.parametrize("name", READERS)
def test_plain_text_has_no_annotation(name):
    known = ", ".join(format for format in READERS[name] if format != "text")
    for source, format in (("a.txt", None), ("a.conllu", "text"), ("-", "text")):
        with pytest.raises(DataError, match=f"plain text has no annotation; give a corpus as {known}$"):
            corpus.read_annotated(source, format, READERS[name])
