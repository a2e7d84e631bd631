"""Files of logical forms: exactly what was read, or one clear line with file and line number."""

import pytest
from tests.data.logical_forms import random_logical_forms
from tests.data.logical_forms.random_logical_forms import read
from tests.data.sources import stream

from strukt.data import corpus
from strukt.data.check import check
from strukt.data.logical_forms import Tags, cogs
from strukt.errors import DataError

LINE = "Emma ate a cake .\teat . agent ( x _ 1 , Emma ) AND eat . theme ( x _ 1 , x _ 3 ) AND cake ( x _ 3 )\tseen"


def test_lines_go_round():
    text = f"{LINE}\n{LINE.rpartition(chr(9))[0]}\nLiam  slept .\nLiam slept .\t\tseen\n"
    sentences = read(text)
    assert "".join(map(str, sentences)) == text
    assert [sentence.line for sentence in sentences] == [1, 2, 3, 4]
    assert [sentence.case for sentence in sentences] == ["seen", "", "", "seen"]
    assert [sentence.logical_form != "" for sentence in sentences] == [True, True, False, False]
    assert sentences[2].forms == ["Liam", "slept", "."]


def test_columns():
    [sentence] = read(LINE)
    assert {name: sentence.column(name) for name in Tags._fields} == {
        "parent": ["1", "_", "_", "-2", "_"],
        "role": ["agent", "_", "_", "theme", "_"],
        "category": ["name", "verb", "_", "noun", "_"],
        "determiner": ["_", "_", "_", "indefinite", "_"],
        "verb": ["_", "eat", "_", "_", "_"],
    }
    with pytest.raises(ValueError, match="have no column 'head'; choose one of parent, role, category"):
        sentence.column("head")


def test_annotated_replaces_the_logical_form_and_nothing_else():
    [sentence] = read(LINE)
    definite = sentence.annotated(determiner=["_", "_", "_", "definite", "_"])
    assert str(definite) == (
        "Emma ate a cake .\t"
        "* cake ( x _ 3 ) ; eat . agent ( x _ 1 , Emma ) AND eat . theme ( x _ 1 , x _ 3 )\tseen\n"
    )
    assert str(sentence) == LINE + "\n"
    [bare] = read("Emma ate a cake .\n")
    assert bare.annotated(**sentence.tags._asdict()).logical_form == sentence.logical_form
    with pytest.raises(ValueError, match="has no tags to keep; give all of parent, role"):
        bare.annotated(role=["_"] * 5)


def test_given_tags_are_kept_where_the_logical_form_says_less():
    [sentence] = read(LINE)
    outside = ["-9", *sentence.column("parent")[1:]]
    annotated = sentence.annotated(parent=outside)
    assert annotated.column("parent") == outside
    assert "Emma" not in annotated.logical_form


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"head": [1] * 5}, "have no column 'head'"),
        ({"role": ["agent"]}, "role: got 1 values for 5 words"),
        ({"parent": ["x"] * 5}, "parent: 'x' is invalid"),
        ({"verb": ["a\tb"] * 5}, "cannot be written to a column"),
        ({"verb": ["eat up"] * 5}, "'eat up' is not a tag: a logical form has spaces around"),
    ],
)
def test_columns_that_cannot_be(columns, message):
    [sentence] = read(LINE)
    with pytest.raises(ValueError, match=message):
        sentence.annotated(**columns)


def test_there_are_two_schemes():
    [sentence] = read(LINE)
    with pytest.raises(ValueError, match="scheme is 'other'; expected direct or published"):
        sentence.in_scheme("other")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a\tb\tc\td\n",
            "some.tsv:1: expected sentence, logical form and case, found 4 columns; keep these three",
        ),
        (
            f"{LINE}\n \tb\n",
            "some.tsv:2: the sentence is empty; write its words, a TAB, and its logical form",
        ),
        (f"{LINE}\nIt fell\tfall\n", "some.tsv:2: 'fall' is neither like 'cake ( x _ 4 )' nor like"),
    ],
)
def test_malformed(text, message):
    with pytest.raises(DataError) as caught:
        read(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("It fell", "some.tsv:1: the sentence has no logical form; write it after the sentence and a TAB"),
        (
            "It fell\tit ( x _ 0 ) AND fall . theme ( x _ 1 , x _ 0 ) AND it ( x _ 0 )",
            "some.tsv:1: tags cannot express",
        ),
    ],
)
def test_without_tags(text, message):
    [sentence] = read(text)
    assert sentence.tags is None
    with pytest.raises(DataError) as caught:
        sentence.column("role")
    assert str(caught.value).startswith(message)


def test_plain_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Emma  ate .\n\nIt fell .\n")
    sentences = list(corpus.read(path, readers=corpus.LOGICAL_FORMS))
    assert [str(sentence) for sentence in sentences] == ["Emma ate .\n", "It fell .\n"]
    assert [sentence.line for sentence in sentences] == [1, 3]
    assert all(isinstance(sentence, cogs.Sentence) for sentence in sentences)


def test_random_files_go_round_and_can_be_annotated_with_their_own_tags():
    text = random_logical_forms.lines(200, seed=3)
    sentences = read(text)
    assert [str(sentence) for sentence in sentences] == [f"{line}\n" for line in text]
    assert [sentence.annotated(**sentence.tags._asdict()) for sentence in sentences] == sentences


def test_check_counts_and_finds_everything():
    lines = [
        "girl\tLAMBDA a . girl ( a )\tprimitive",
        LINE,
        "It fell",
        "It fell\tfall",
        "It fell\tfall . theme ( x _ 1 , x _ 0 ) AND it ( x _ 0 )",
    ]
    report = check("cogs", stream("".join(f"{line}\n" for line in lines), "a.tsv"), "cogs")
    assert [(problem.line, problem.rule) for problem in report.problems] == [
        (3, "tags"),
        (4, "logical-form"),
        (5, "tags"),
    ]
    assert report.summary() == {
        "sentences": 2,
        "words": 6,
        "longest sentence": 5,
        "primitives": 1,
        "parent labels": 2,
        "role labels": 2,
        "category labels": 3,
        "determiner labels": 1,
        "verb labels": 1,
        "case labels": 2,
    }


def test_check_knows_the_format_by_its_name(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("".join(f"{line}\n" for line in random_logical_forms.lines(20)))
    assert check("cogs", path).summary()["sentences"] == 32
    assert check("tag", path).summary()["sentences"] == 1  # of words with tags
