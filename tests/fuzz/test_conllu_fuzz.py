"""CoNLL-U of a random grammar goes round; of changed bytes the check says what reading does."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.sources import stream
from tests.fuzz.grammars import attempt, conllu_file, mutated, mutations, text
from tests.fuzz.test_formats_fuzz import CONLLU

from strukt.data import check, conllu


def named(content):
    return stream(content, "fuzz.conllu")


def read(content):
    return list(conllu.read(named(content)))


def read_trees(content):
    return [conllu.require_tree(sentence) for sentence in conllu.read(named(content))]


@given(conllu_file())
def test_round_trip(content):
    assert "".join(map(str, conllu.read(io.BytesIO(content)))).encode() == content


@given(conllu_file())
def test_annotating_with_what_is_there_changes_nothing(content):
    for sentence in conllu.read(io.BytesIO(content)):
        columns = {name: sentence.column(name) for name in conllu.COLUMNS[1:]}
        assert str(sentence.annotated(**columns)) == str(sentence)


@given(conllu_file(), st.data())
def test_annotating_changes_the_named_column_of_words_only(content, data):
    for sentence in conllu.read(io.BytesIO(content)):
        tags = data.draw(st.lists(text, min_size=len(sentence), max_size=len(sentence)))
        annotated = sentence.annotated(upos=tags)
        assert annotated.column("upos") == tags
        for name in conllu.COLUMNS:
            if name != "upos":
                assert annotated.column(name) == sentence.column(name)
        assert annotated.comments == sentence.comments
        assert annotated.multiword_tokens == sentence.multiword_tokens
        assert annotated.empty_nodes == sentence.empty_nodes


@settings(max_examples=3 * settings().max_examples)
@given(st.binary(max_size=300))
def test_any_bytes_parse_or_give_a_data_error(content):
    _, error = attempt(read, content)
    assert error is None or str(error).startswith("fuzz.conllu:")


@given(mutations)
def test_check_agrees_with_reading(changes):
    content = mutated(CONLLU.encode() * 2, changes)
    report = check.check("dependency", named(content), "conllu")
    _, error = attempt(read_trees, content)
    if error is None:
        assert report.problem_count == 0
    else:
        first = next(problem for problem in report.problems if not problem.repaired)
        assert str(first) == str(error)


@given(st.lists(text, min_size=1, max_size=5))
def test_every_form_of_the_grammar_can_be_made(forms):
    assert conllu.from_forms(forms).forms == forms


@pytest.mark.parametrize("byte", [b"\x0b", b"\x0c", b"\x1c", "\x85".encode(), "\u2028".encode()])
def test_only_a_line_feed_ends_a_line(byte):
    content = CONLLU.encode().replace(b"where", b"wh" + byte + b"re", 1)
    [sentence] = conllu.read(io.BytesIO(content))
    assert str(sentence).encode() == content
