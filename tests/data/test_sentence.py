"""What all sentences share."""

import io

import pytest
from hypothesis import given
from tests.fuzz.grammars import text

from strukt.data import columns, conllu
from strukt.data.sentence import Sentence, add_note, cells

SENTENCES = [conllu.from_forms(["a", "b"]), *columns.read(io.BytesIO(b"a\tX\nb\tY\n\n"))]


@pytest.mark.parametrize("sentence", SENTENCES, ids=["conllu", "columns"])
def test_what_every_format_gives(sentence):
    assert isinstance(sentence, Sentence)
    assert sentence.forms == sentence.column("form") == ["a", "b"]
    assert len(sentence) == 2
    assert str(sentence).endswith("\n\n")
    assert sentence.annotated() == sentence
    assert sentence.with_misc() is not sentence
    assert sentence.with_misc(p=["1", "2"]).column("misc") == ["p=1", "p=2"]


@pytest.mark.parametrize("value", ["", "a\tb", "a\nb", "a\r", "\0"])
def test_cells_refuse(value):
    with pytest.raises(ValueError, match=r"head: .* cannot be written to a column; give non-empty text"):
        cells("head", [value], 1)


@pytest.mark.parametrize("sentence", SENTENCES, ids=["conllu", "columns"])
def test_a_string_is_no_list_of_values(sentence):
    with pytest.raises(ValueError, match="p: got the string '12'; give a list with a value for each word"):
        sentence.with_misc(p="12")


@given(text, text)
def test_a_note_is_added_once(misc, value):
    once = add_note(misc, "key", value)
    assert add_note(once, "key", value).count("key=") == once.count("key=")
    assert once.endswith(f"key={value}")


@pytest.mark.parametrize("sentence", SENTENCES, ids=["conllu", "columns"])
@pytest.mark.parametrize("note", [{"p": ["1|q=2", "1"]}, {"p|q": ["1", "1"]}])
def test_a_note_cannot_contain_the_separator_of_notes(sentence, note):
    with pytest.raises(ValueError, match=r"p.*: .* cannot be in a note; give text without '\|'"):
        sentence.with_misc(**note)


def test_notes_with_a_similar_key_stay():
    assert add_note("pp=1|p|p=0", "p", "2") == "pp=1|p|p=2"
