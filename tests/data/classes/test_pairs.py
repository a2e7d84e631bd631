"""Pairs of sentences: nothing is lost, words are cut in one way, and what is wrong is said with its line."""

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.sources import shared

from strukt.data.check import check
from strukt.data.classes import pairs
from strukt.errors import DataError

FORMS = st.text(st.characters(codec="utf-8", categories=["L", "M", "N", "P", "Cf"]), min_size=1)
SENTENCES = st.lists(FORMS, min_size=1).map("  ".join)
CLITICS = st.sampled_from(
    ["man's", "don't", "CAN'T", "we’ll", "n't", "'s", "``", "''", "O'Neill", "3.15", "T-shirt"]
)
def read(content):
    return list(pairs.read(io.BytesIO(content.encode())))


@given(st.lists(st.tuples(SENTENCES, SENTENCES, st.none() | FORMS), min_size=1))
def test_what_is_read_is_written(rows):
    lines = ["\t".join(cell for cell in row if cell is not None) for row in rows]
    content = "\n".join([*lines, ""])
    found = read(content)
    assert "".join(map(str, found)) == content
    for pair, (premise, hypothesis, label) in zip(found, rows, strict=True):
        assert "".join(pair.premise) == "".join(premise.split())
        assert "".join(pair.hypothesis) == "".join(hypothesis.split())
        assert pair.forms == pair.premise + pair.hypothesis
        assert pair.label == (None if label == "-" else label)


@given(st.lists(FORMS | CLITICS).map(" ".join))
def test_words_are_cut_once_and_for_all(text):
    found = pairs.words(text)
    assert pairs.words(" ".join(found)) == found
    assert "".join(found) == "".join(text.split())


def test_words_keep_their_marks():
    assert pairs.words("The cafe\u0301's naï\u0308ve owner isn't हिन्दी.") == [
        *("The", "cafe\u0301", "'s", "naï\u0308ve", "owner", "is", "n't", "हिन्दी", ".")
    ]


def test_snli_comes_back_and_is_cut_as_its_tokenised_part_is():
    path = shared("snli-subset/snli_dev.tok.tsv.gz")
    found = list(pairs.read(path))
    assert "".join(map(str, found)) == gzip.decompress(path.read_bytes()).decode()
    assert {pair.label for pair in found} == {"entailment", "neutral", "contradiction"}
    columns = [str(pair).split("\t") for pair in found]
    same = [
        pair.premise == premise.split() and pair.hypothesis == hypothesis.split()
        for pair, (premise, hypothesis, _) in zip(found, columns, strict=True)
    ]
    assert sum(same) > 0.995 * len(found)


def test_a_class_is_replaced_and_all_else_kept():
    [pair] = read("A  man's dog. \tIt barks.\tneutral\n")
    assert str(pair.annotated(label="entailment")) == "A  man's dog. \tIt barks.\tentailment\n"
    noted = pair.annotated(p="0.5")
    assert str(noted) == "A  man's dog. \tIt barks.\tneutral\tp=0.5\n"
    assert read(str(noted))[0].label == "neutral"
    assert str(noted.annotated(label="neutral", p="0.6")).endswith("\tneutral\tp=0.6\n")


@pytest.mark.parametrize("line", ["A\tB\n", "A\tB\t-\n"])
def test_a_pair_may_have_no_class(line):
    [pair] = read(line)
    assert pair.label is None
    assert str(pair) == line
    assert str(pair.annotated(label="neutral")) == "A\tB\tneutral\n"
    assert str(pair.annotated(p="0.5")) == "A\tB\t-\tp=0.5\n"
    report = check("nli", io.BytesIO(line.encode()), "pairs")
    [problem] = report.problems
    assert str(problem) == ("<stream>:1: the sentence has no class; write it after the hypothesis and a TAB")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "A\tB\tc\nA B\n",
            "<stream>:2: expected premise, hypothesis and class, found 1 columns; separate these",
        ),
        ("A\tB\tc\td\n", "<stream>:1: expected premise, hypothesis and class, found 4 columns"),
        ("A\tB\tc\tp=1\td\n", "<stream>:1: expected premise, hypothesis and class, found 5 columns"),
        (" \tB\tc\n", "<stream>:1: the premise is empty; write its words"),
        ("A\t\tc\n", "<stream>:1: the hypothesis is empty; write its words"),
        ("A\tB\t\n", "<stream>:1: the class is empty; write it, or - for none"),
        ("", "the file holds no sentence"),
    ],
)
def test_faults_have_a_line(content, message):
    with pytest.raises(DataError) as caught:
        read(content)
    assert str(caught.value).startswith(message) or message in str(caught.value)
    report = check("nli", io.BytesIO(content.encode()), "pairs")
    assert report.problem_count == 1
    assert report.sentences == content.count("\n") - 1 if content else report.sentences == 0


def test_a_check_counts_what_is_there():
    report = check("nli", io.BytesIO(b"A man's dog.\tIt barks.\tneutral\nA\tB\tneutral\n"), "pairs")
    assert report.problem_count == 0
    assert (report.sentences, report.words, report.longest) == (2, 10, 8)
    assert report.labels["class"] == {"neutral": 2}


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("a\tb", "cannot be written to a column"),
        (" ", "label: ' ' is blank; give a class, or '-' for none"),
        ("", "label: '' cannot be written"),
    ],
)
def test_a_class_that_cannot_be_written_is_refused(label, message):
    [pair] = read("A\tB\tneutral\n")
    with pytest.raises(ValueError, match=message):
        pair.annotated(label=label)
    assert str(pair.annotated()) == str(pair)
