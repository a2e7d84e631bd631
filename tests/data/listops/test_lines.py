"""Files of expressions: exactly what was read, or one clear line with file and line number."""

import io

import pytest
from tests.data.sources import shared

from strukt.data import listops
from strukt.data.check import check
from strukt.errors import DataError

LINE = "9\t[MAX 2 9 [MIN 4 7 ] 0 ]"
def read(text):
    return list(listops.read(io.BytesIO(text.encode())))


def test_lines_go_round():
    text = f"{LINE}\n_\t( ( ( [SM 6 ) 5 ) ] )\n7\t7\n[MIN 1  2 ]\n{LINE}\tarity=3 2\tp=0.5 0.25\n"
    sentences = read(text)
    assert "".join(map(str, sentences)) == text
    assert [sentence.line for sentence in sentences] == [1, 2, 3, 4, 5]
    assert [sentence.label for sentence in sentences] == ["9", None, "7", None, "9"]
    assert [sentence.arities for sentence in sentences] == [[4, 2], [2], [], [2], [3, 2]]


def test_columns():
    [sentence] = read(LINE)
    assert sentence.forms == ["[MAX", "2", "9", "[MIN", "4", "7", "]", "0", "]"] == sentence.column("form")
    assert sentence.column("head") == ["0", "1", "1", "1", "4", "4", "4", "1", "1"]
    assert sentence.column("arity") == ["4", "_", "_", "2", "_", "_", "_", "_", "_"]
    assert sentence.operators == [0, 3]
    with pytest.raises(ValueError, match="no column 'upos'; choose one of form, head, arity"):
        sentence.column("upos")


def test_annotating_makes_a_copy():
    [sentence] = read(f"{LINE}\tp=0.1\n")
    noted = sentence.annotated(arities=[5, 3], p="0.9 0.8")
    assert str(noted) == f"{LINE}\tarity=5 3\tp=0.9 0.8\n"
    assert noted.arities == [5, 3] == read(str(noted))[0].arities
    assert str(sentence.annotated(label=3)) == f"3{LINE[1:]}\n"
    [bare] = read("[MIN 4 7 ]\n")
    assert str(bare.annotated(arities=[2])) == "_\t[MIN 4 7 ]\tarity=2\n"
    assert sentence.arities == [4, 2]
    with pytest.raises(ValueError, match="got 1 for 2 operators"):
        sentence.annotated(arities=[1])
    with pytest.raises(ValueError, match="cannot be written to a column"):
        sentence.annotated(p="a\tb")
    for label in ("high", 10, "12"):
        with pytest.raises(ValueError, match=f"label is '{label}'; expected a digit, or '_' for no value"):
            sentence.annotated(label=label)
    with pytest.raises(ValueError, match="arity: this note is written for the argument arities"):
        sentence.annotated(arity="x")
    for arity in (-1, 1.5):
        with pytest.raises(ValueError, match=r"arities: got .*; expected whole numbers from 0 up"):
            sentence.annotated(arities=[arity, 2])


def test_text_may_have_its_brackets_apart():
    found = listops.read_text(io.BytesIO(b"[ MAX 2  9 [ MIN 4 7 ] 0 ]\n"))
    assert [str(sentence) for sentence in found] == ["[MAX 2 9 [MIN 4 7 ] 0 ]\n"]
    with pytest.raises(DataError, match=r"<stream>:1: 'MAX' is not a digit.*write an expression such as"):
        list(listops.read_text(io.BytesIO(b"MAX 2 9\n")))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[MAX 2 9", r"\[MAX is not closed by \]; write an expression such as \[MAX 2 9 \[MIN 4 7 \] 0 \]"),
        ("x\t[MAX 2 9 ]", "the value is 'x'; write a digit, or _ for none, and a TAB after it"),
        ("12\t[MAX 2 9 ]", "the value is '12'; write a digit"),
        ("\t[MAX 2 9 ]", "the value is ''; write a digit"),
        ("9\t", "there is no expression"),
        ("9\t[MAX 2 9 ]\tcase", "expected value, expression and notes key=value, found 3 columns"),
        ("9\t[MAX 2 9 ]\tarity=2 2", "the note of arities is '2 2'; write 1 numbers, one for each operator"),
        ("9\t[MAX 2 9 ]\tarity=two", "the note of arities is 'two'"),
        ("9\t[MAX 2 9 ]\tarity=-1", "the note of arities is '-1'"),
    ],
)
def test_what_is_refused(line, message):
    with pytest.raises(DataError, match=f"<stream>:2: {message}"):
        read(f"{LINE}\n{line}\n")


def test_a_check_finds_missing_and_wrong_values():
    text = f"{LINE}\n[MAX 2 9 ]\n8{LINE[1:]}\n9\t[MAX\n5\t[SM 9 6 ]\n"
    report = check("listops", io.BytesIO(text.encode()), "listops")
    assert list(map(str, report.problems)) == [
        "<stream>:2: the expression has no value; write it before the expression and a TAB",
        "<stream>:3: the value is 9, not 8; correct the value or the expression",
        "<stream>:4: [MAX is not closed by ]; write an expression such as [MAX 2 9 [MIN 4 7 ] 0 ]",
    ]
    assert report.summary() == {
        "sentences": 2,
        "words": 13,
        "longest sentence": 9,
        "operators": 3,
        "value labels": 2,
        "arity labels": 2,
    }


def test_published_expressions():
    """The numbers of the corpus's description; a value that is not the one given would be a problem."""
    report = check("listops", shared("listops/test_d8.tsv.gz"))
    assert (report.sentences, report.problem_count) == (10_000, 0)
    assert (report.words, report.longest) == (149_185, 93)
