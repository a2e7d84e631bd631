"""Column files of a random grammar go round; changed bytes parse or give a DataError with file and line."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.grammars import attempt, column_file, mutated, mutations, read_or_refused

from strukt.data import check, columns, text

REAL = b"""\
@paulwalk\tO
It\tO
's\tO
#\tO
Empire\tB-location
State\tI-location
Building\tI-location

\xe2\x80\x99\xf0\x9f\x98\x82\tO
ESB\tB-location
\t
"""


def named(content):
    stream = io.BytesIO(content)
    stream.name = "fuzz.tsv"
    return stream


def read(content):
    return list(columns.read(named(content)))


def read_tags(content):
    return [sentence.column("tag") for sentence in columns.read(named(content))]


@given(column_file())
def test_round_trip(content):
    assert "".join(map(str, columns.read(io.BytesIO(content)))).encode() == content


@given(column_file())
def test_replaced_tags_are_read_back(content):
    sentences = list(columns.read(io.BytesIO(content)))
    changed = [sentence.annotated(tag=["X"] * len(sentence)) for sentence in sentences]
    again = list(columns.read(io.BytesIO("".join(map(str, changed)).encode())))
    assert [sentence.forms for sentence in again] == [sentence.forms for sentence in sentences]
    assert all(set(sentence.column("tag")) == {"X"} for sentence in again)


@settings(max_examples=4 * settings().max_examples)
@given(mutations)
def test_changed_bytes_parse_or_give_file_and_line(changes):
    read_or_refused(read, mutated(REAL + REAL, changes), "fuzz.tsv")


@given(mutations)
def test_check_finds_what_reading_stops_at(changes):
    content = mutated(REAL, changes)
    report = check.check("tag", named(content), "columns")
    structural = [problem for problem in report.problems if not problem.repaired and problem.rule != "span"]
    _, error = attempt(read_tags, content)
    assert str(error) == (str(structural[0]) if structural else "None")


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_give_a_data_error(content):
    sentences, error = attempt(lambda: list(text.read(named(content))))
    assert str(error).startswith("fuzz.tsv:") if error else all(len(sentence) for sentence in sentences)
