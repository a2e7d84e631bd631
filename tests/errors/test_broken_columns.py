"""Broken column files and texts: each gives one clear line with file and line number, or a stated repair."""

import pytest

from strukt.data import columns, text
from strukt.data.files.problems import DataWarning
from strukt.errors import DataError

GOOD = b"Ada\tB-PER\n\n"

# name -> (content of the file, line of the problem, part of the message)
UNREADABLE = {
    "empty file": (b"", None, "the file holds no sentence"),
    "four columns": (GOOD + b"a\tb\tc\td\n\n", 3, "found 4 columns"),
    "CoNLL-U": (b"1\tw" + b"\t_" * 8 + b"\n\n", 1, "found 10 columns"),
    "spaces for TABs": (GOOD + b"Ada B-PER\n\n", 3, "spaces but no TAB"),
    "no word": (GOOD + b"\tO\n\n", 3, "column 1 is empty"),
    "no tag after the TAB": (b"Ada\t\n\n", 1, "column 2 is empty"),
    "Latin-1": (b"Ad\xe8le\tO\n\n", 1, "is not UTF-8"),
    "NUL byte": (b"A\0\tO\n\n", 1, "NUL byte"),
    "long line": (GOOD + b"a" * 200_000 + b"\tO\n\n", 3, "more than 100,000 bytes"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_column_file(name, tmp_path):
    content, line, message = UNREADABLE[name]
    path = tmp_path / "broken.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        list(columns.read(path))
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_missing_tag_matters_only_when_tags_are_asked_for(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_bytes(GOOD + b"Ada\tO\nspoke\n\n")
    _, sentence = columns.read(path)
    assert sentence.forms == ["Ada", "spoke"]
    with pytest.raises(DataError, match=r"words\.tsv:4: the word 'spoke' has no tag"):
        sentence.column("tag")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [(b"", None, "no sentence"), (b" \n\n", None, "no sentence"), (b"ok\n\xff\n", 2, "not UTF-8")],
)
def test_unreadable_text(content, line, message, tmp_path):
    path = tmp_path / "broken.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        list(text.read(path))
    assert caught.value.line == line


def test_repair_of_a_column_file(tmp_path):
    path = tmp_path / "repaired.tsv"
    path.write_bytes(b"Ada\tB-PER\r\n")
    with pytest.warns(DataWarning) as caught:
        [sentence] = columns.read(path)
    assert str(sentence).encode() == GOOD
    assert {str(warning.message).split(": ", 1)[1] for warning in caught} == {
        "the lines end in CRLF; reading and writing them as LF",
        "the file does not end in a blank line; adding it",
    }
