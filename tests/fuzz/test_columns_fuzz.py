"""Column files of a random grammar go round; of changed bytes the check says what reading does."""

import io

from hypothesis import given
from hypothesis import strategies as st
from tests.data.sources import stream
from tests.fuzz.grammars import attempt, column_file, mutated, mutations
from tests.fuzz.test_formats_fuzz import COLUMNS

from strukt.data import check, columns, text


def named(content):
    return stream(content, "fuzz.tsv")


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


@given(mutations)
def test_check_finds_what_reading_stops_at(changes):
    content = mutated(COLUMNS.encode(), changes)
    report = check.check("tag", named(content), "columns")
    structural = [problem for problem in report.problems if not problem.repaired and problem.rule != "span"]
    _, error = attempt(read_tags, content)
    assert str(error) == (str(structural[0]) if structural else "None")


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_give_a_data_error(content):
    sentences, error = attempt(lambda: list(text.read(named(content))))
    assert str(error).startswith("fuzz.tsv:") if error else all(len(sentence) for sentence in sentences)
