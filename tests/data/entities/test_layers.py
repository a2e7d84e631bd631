"""Layered BIO labels, on LitBank and on small files."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.entities.test_mentions import entities
from tests.data.sources import shared, stream

from strukt.data.entities import Entity, crossings, layers, ordered
from strukt.errors import DataError

DEVELOPMENT = [697, 21018, 1457]
"""Sentences, tokens and entities, as the notes beside the data count them."""

TEXT = b"the\tB-PER\tO\t\nQueen\tI-PER\tB-PER\t\nof\tI-PER\tO\t\nSpain\tI-PER\tB-LOC\t\n\n"


def named(content):
    return stream(content, "fuzz.tsv")


def read(content):
    return list(layers.read(named(content)))


def test_litbank_goes_round_and_counts_agree():
    folder = shared("litbank-entities")
    with open(folder / "splits.tsv", encoding="utf-8") as file:
        names = [row["file"] for row in csv.DictReader(file, delimiter="\t") if row["split"] == "dev"]
    counts = [0, 0, 0]
    for name in names:
        path = folder / "tsv" / name
        sentences = list(layers.read(path))
        assert "".join(map(str, sentences)).encode() == path.read_bytes()
        rewritten = [sentence.annotated(entities=sentence.entities) for sentence in sentences]
        again = read("".join(map(str, rewritten)).encode())
        assert [sentence.entities for sentence in again] == [sentence.entities for sentence in sentences]
        assert [sentence.forms for sentence in again] == [sentence.forms for sentence in sentences]
        assert all(line.endswith("\t") for sentence in again for line in sentence.block.lines)
        assert not any(crossings(sentence.entities) for sentence in sentences)
        counts[0] += len(sentences)
        counts[1] += sum(map(len, sentences))
        counts[2] += sum(len(sentence.entities) for sentence in sentences)
    assert counts == DEVELOPMENT


def test_entities_of_all_layers():
    [sentence] = read(TEXT)
    assert sentence.entities == [Entity(0, 4, "PER"), Entity(1, 2, "PER"), Entity(3, 4, "LOC")]
    assert sentence.forms == sentence.column("form") == ["the", "Queen", "of", "Spain"]
    assert (sentence.is_annotated, sentence.line_of(3)) == (True, 4)
    with pytest.raises(ValueError, match="the layers have no column 'tag'"):
        sentence.column("tag")


def test_a_span_that_two_layers_hold():
    [sentence] = read(b"a\tB-X\tB-X\tB-Y\nb\tB-Y\tI-X\tI-Y\n\n")
    assert sentence.entities == [Entity(0, 2, "X"), Entity(0, 2, "Y"), Entity(0, 1, "X"), Entity(1, 2, "Y")]
    [twice] = read(b"a\tB-X\tB-X\n\n")
    assert twice.entities == [Entity(0, 1, "X")]


def test_written_entities_are_outermost_first_and_the_end_of_the_line_stays():
    [sentence] = read(TEXT)
    written = sentence.annotated(entities=[Entity(1, 2, "B"), Entity(3, 4, "C"), Entity(0, 2, "A")])
    assert str(written) == "the\tB-A\tO\t\nQueen\tI-A\tB-B\t\nof\tO\tO\t\nSpain\tB-C\tO\t\n\n"
    assert written.entities == [Entity(0, 2, "A"), Entity(1, 2, "B"), Entity(3, 4, "C")]
    assert sentence.annotated() is sentence


def test_as_many_layers_as_needed():
    [sentence] = read(b"a\tO\nb\tO\n \n")
    chain = [Entity(0, 2, "A"), Entity(0, 1, "B"), Entity(0, 1, "C")]
    assert str(sentence.annotated(entities=chain)) == "a\tB-A\tB-B\tB-C\nb\tI-A\tO\tO\n \n"
    assert str(sentence.annotated(entities=[])) == str(sentence)


def test_words_alone_are_text_to_be_annotated():
    [sentence] = read(b"Ada\nspoke\n\n")
    assert (sentence.entities, sentence.is_annotated, sentence.forms) == ([], False, ["Ada", "spoke"])
    written = sentence.annotated(entities=[Entity(0, 1, "PER")])
    assert (str(written), written.is_annotated) == ("Ada\tB-PER\nspoke\tO\n\n", True)


def test_no_notes_and_no_other_columns():
    [sentence] = read(b"Ada\tO\n\n")
    with pytest.raises(ValueError, match="p: layers of labels have no place for notes"):
        sentence.with_misc(p=["0.5"])
    with pytest.raises(ValueError, match="the layers have no column 'upos'"):
        sentence.annotated(upos=["X"])
    with pytest.raises(ValueError, match="does not lie in a sentence of 1 words"):
        sentence.annotated(entities=[Entity(0, 2, "PER")])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file holds no sentence"),
        ("a\tO\n\nb\tI-X\n\n", 3, "I-X follows O; begin the entity with B-X"),
        ("a\tB-Y\nb\tI-X\n\n", 2, "I-X follows B-Y; begin the entity with B-X"),
        ("a\tB-Y\tO\t\nb\tI-Y\tI-Y\t\n\n", 2, "I-Y follows O in column 3; begin"),
        ("a\tB-\n\n", 1, "the label is 'B-'; write O, B-type"),
        ("a\tS-X\n\n", 1, "the label is 'S-X'"),
        ("a\tO\tO\nb\tO\n\n", 2, "expected 3 columns as in the lines before, found 2"),
        ("a\tO\tO\t\nb\tO\tO\n\n", 1, "column 4 is empty"),
        ("a\tO\t\nb\tO\tB-X\n\n", 1, "column 3 is empty"),
        ("a\t\n\n", 1, "column 2 is empty"),
        ("\tO\n\n", 1, "column 1 is empty"),
        ("a\tO\n\u00a0\tO\n\n", 2, "column 1 holds only white space ('\\xa0')"),
        ("a b\n\n", 1, "the line has spaces but no TAB; put one TAB between the word and each label, or run "),
    ],
)
def test_broken_files(text, line, message):
    with pytest.raises(DataError) as caught:
        read(text.encode())
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == ("fuzz.tsv", line)
    assert "; " in str(caught.value)


def test_sentences_with_problems_are_left_out():
    problems = []
    found = layers.read(named(b"a\tI-X\n\nb\tB-X\n\nc\n\n"), problems.append)
    assert [sentence.forms for sentence in found] == [["b"], ["c"]]
    assert [problem.line for problem in problems] == [1]


@given(entities, st.integers(0, 3), st.booleans())
def test_what_is_written_is_read(found, layer_count, ends_in_tab):
    line = "\t".join(["w", *["O"] * layer_count]) + "\t" * (ends_in_tab and layer_count > 0)
    [sentence] = read(f"{line}\n".encode() * 15 + b"\n")
    written = sentence.annotated(entities=found)
    [again] = read(str(written).encode())
    assert again.entities == written.entities == ordered(found)
    assert (again.forms, again.annotated(entities=found)) == (sentence.forms, written)
    assert str(written).count("\t\n") == 15 * (ends_in_tab and layer_count > 0)
