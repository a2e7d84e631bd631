"""Sentences that have a line of their own, in all formats that have such."""

import io

import pytest

from strukt.data import listops
from strukt.data.classes import labelled, pairs
from strukt.data.entities import json_lines
from strukt.data.line_sentence import note_fields
from strukt.data.logical_forms import cogs

LINES = {
    labelled: "good\ta film\tp=0.9",
    pairs: "A man\tA woman\tneutral",
    json_lines: '{"tokens": ["Ada"]}',
    cogs: "Emma ate .\teat . agent ( x _ 1 , Emma )",
    listops: "9\t[MAX 2 9 ]\tarity=2",
}


@pytest.fixture(params=LINES, ids=lambda module: module.__name__.rpartition(".")[2])
def sentence(request):
    """A sentence of each format, on the second line of its file."""
    text = f"{LINES[request.param]}\n" * 2
    return list(request.param.read(io.BytesIO(text.encode())))[1]


def test_fields_make_the_line(sentence):
    assert "\t".join(sentence.fields) + "\n" == str(sentence)
    assert [sentence.field(index) for index in range(len(sentence.fields))] == sentence.fields
    assert sentence.field(9) == ""


def test_another_line_stays_at_its_place(sentence):
    block = sentence.block_with("a", "b")
    assert (block.lines, block.path, block.line) == (["a\tb"], "<stream>", 2)


def test_notes_on_words_have_no_place(sentence):
    with pytest.raises(ValueError, match=f"p: {sentence.plural} have no place for notes on words"):
        sentence.with_misc(p=["0.9"] * len(sentence))


@pytest.mark.parametrize("module", [labelled, pairs, json_lines])
def test_the_words_are_the_only_column(module):
    [sentence] = module.read(io.BytesIO(f"{LINES[module]}\n".encode()))
    assert sentence.column("form") == sentence.forms
    with pytest.raises(ValueError, match=f"have no column 'tag'; choose form, or take the {sentence.annotation}"):
        sentence.column("tag")


def test_notes_that_cannot_be_written_are_refused():
    assert note_fields({"p": "0.9", "2": "b"}) == ["p=0.9", "2=b"]
    with pytest.raises(ValueError, match="cannot be written to a column"):
        note_fields({"p": "a\tb"})
