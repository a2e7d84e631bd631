"""Two-column files, on real ones and on small ones."""

import gzip
import io

import pytest
from tests.data.sources import shared

from strukt.data import columns
from strukt.data.tag_schemes.spans import spans
from strukt.errors import DataError

# name -> sentences, tokens, entities, as the notes beside the data count them
FILES = {
    "wnut17train.conll.gz": (3394, 62730, 1975),
    "emerging.dev.conll.gz": (1009, 15733, 836),
    "emerging.test.annotated.gz": (1287, 23394, 1079),
}

TEXT = b"Ada\tB-PER\nLovelace\tI-PER\n\t\n#\tO\n\n"


def read(content):
    return list(columns.read(io.BytesIO(content)))


@pytest.mark.parametrize("name", FILES)
def test_real_file_goes_round_and_counts_agree(name):
    path = shared(f"wnut17/{name}")
    sentences = list(columns.read(path))
    assert "".join(map(str, sentences)).encode() == gzip.decompress(path.read_bytes())
    entities = sum(len(spans(sentence.column("tag"))) for sentence in sentences)
    assert (len(sentences), sum(map(len, sentences)), entities) == FILES[name]


def test_white_space_between_sentences_is_kept():
    first, second = read(TEXT)
    assert str(first) == "Ada\tB-PER\nLovelace\tI-PER\n\t\n"
    assert str(second) == "#\tO\n\n"
    assert (first.line, second.line) == (1, 4)


def test_columns_by_name():
    first, _ = read(TEXT)
    assert first.forms == first.column("form") == ["Ada", "Lovelace"]
    assert first.column("tag") == ["B-PER", "I-PER"]
    with pytest.raises(ValueError, match="the columns have no 'upos'; choose one of form, tag, misc"):
        first.column("upos")


def test_annotated_replaces_or_adds_tags():
    first, _ = read(TEXT)
    assert str(first.annotated(tag=["O", "O"])) == "Ada\tO\nLovelace\tO\n\t\n"
    [untagged] = read(b"Ada\nspoke\n\n")
    assert untagged.annotated(tag=["B-PER", "O"]).column("tag") == ["B-PER", "O"]
    with pytest.raises(ValueError, match="tag: got 1 values for 2 words"):
        untagged.annotated(tag=["O"])
    with pytest.raises(DataError, match="<stream>:1: the word 'Ada' has no tag"):
        untagged.column("tag")
    with pytest.raises(ValueError, match="the word 'Ada' has no tag; give that column as well"):
        untagged.with_misc(p=["1", "2"])


def test_with_misc_adds_a_third_column_and_keeps_its_notes():
    first, _ = read(TEXT)
    noted = first.with_misc(p=["0.5", "0.25"])
    assert str(noted) == "Ada\tB-PER\tp=0.5\nLovelace\tI-PER\tp=0.25\n\t\n"
    assert noted.with_misc(p=["1", "1"], q=[2, 3]).column("misc") == ["p=1|q=2", "p=1|q=3"]
    assert noted.column("tag") == first.column("tag")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"tag": [" "]}, "column 2 holds only white space"),
        ({"form": ["New York"]}, "the line has spaces but no TAB"),
    ],
)
def test_what_could_not_be_read_is_not_written(column, message):
    [untagged] = read(b"Ada\n\n")
    with pytest.raises(ValueError, match=message):
        untagged.annotated(**column)


def test_too_many_columns_are_refused_with_a_command_that_leaves_two():
    with pytest.raises(DataError, match=r"found 4 columns; keep these two: cut -f1,2 FILE$"):
        read(b"Ada\tNNP\tB-NP\tB-PER\n\n")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", None, "the file holds no sentence"),
        (TEXT + b"Ada B-PER\n\n", 6, "spaces but no TAB"),
        (TEXT + b"\tO\n\n", 6, "column 1 is empty"),
        (b"Ada\t\n\n", 1, "column 2 is empty"),
    ],
)
def test_what_is_no_such_file_is_named_with_its_line(content, line, message):
    with pytest.raises(DataError, match=message) as caught:
        read(content)
    assert caught.value.line == line


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", " ", "\u00a0 "])
def test_words_and_tags_of_white_space_alone_are_refused(space):
    """Without its tag, the line would end the sentence."""
    for line, column in ((f"{space}\tO", 1), (f"Ada\t{space}", 2)):
        with pytest.raises(DataError) as caught:
            read(f"It\tO\n{line}\n\n".encode())
        message = f"column {column} holds only white space ({space!r}); write the word, a TAB, and its tag"
        assert str(caught.value) == f"<stream>:2: {message}"
    [sentence] = read("New York\tB-LOC\nNew\u00a0York\tB-LOC\n\u3000x\tO\n\n".encode())
    assert sentence.forms == ["New York", "New\u00a0York", "\u3000x"]
