"""Sentences of classes: nothing is lost, and what is wrong is said with its line."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data import classes
from strukt.data.classes import labelled
from strukt.errors import DataError

WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1)


def read(content):
    return list(labelled.read(io.BytesIO(content.encode())))


@given(st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1)), min_size=1))
def test_what_is_read_is_written(rows):
    content = "".join(f"{label}\t{'  '.join(words)}\n" for label, words in rows)
    sentences = read(content)
    assert "".join(map(str, sentences)) == content
    assert [(sentence.label, sentence.forms) for sentence in sentences] == rows


def test_a_class_is_replaced_and_all_else_kept():
    [sentence] = read("negative\ta  gorgeous film \n")
    assert str(sentence.annotated(label="positive")) == "positive\ta  gorgeous film \n"
    noted = sentence.annotated(p="0.5")
    assert str(noted) == "negative\ta  gorgeous film \tp=0.5\n"
    assert read(str(noted))[0].forms == ["a", "gorgeous", "film"], "notes are no words"


def test_text_has_no_class():
    [sentence] = labelled.read_text(io.BytesIO(b"a title\tand a text\n"))
    assert sentence.label is None
    assert sentence.forms == ["a", "title", "and", "a", "text"]
    assert str(sentence.annotated(label="positive")) == "positive\ta title and a text\n"
    with pytest.raises(ValueError, match="label: the sentence has no class; give one"):
        sentence.annotated()
    assert str(classes.missing(sentence).error()).startswith("<stream>:1: the sentence has no class")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("good\tfine\n\tno class\n", "<stream>:2: the class is empty"),
        ("good\t \n", "<stream>:1: there are no words"),
        ("good\ta title\tand a text\n", "<stream>:1: expected class and words, found 3 columns"),
        ("", "the file holds no sentence"),
    ],
)
def test_faults_have_a_line(content, message):
    with pytest.raises(DataError, match=message):
        read(content)


def test_a_class_that_cannot_be_written_is_refused():
    [sentence] = read("good\tfine\n")
    with pytest.raises(ValueError, match="cannot be written to a column"):
        sentence.annotated(label="a\tb")
