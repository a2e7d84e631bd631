"""Forbidden parts, in comments of CoNLL-U and in JSON lines."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data import columns, conllu
from strukt.data.conllu import entity_notes
from strukt.data.entities import json_lines, layers
from strukt.data.parts import Part, part_of
from strukt.errors import DataError

PARTS = [Part("tag", (2,), "NN"), Part("arc", (1, 0), ""), Part("arc", (3, 1), "obj"), Part("span", (0, 3), "A B")]
LABELS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def in_comments(*parts):
    return conllu.from_forms(["It", "works", "well"], [part.comment() for part in parts])


def test_parts_are_written_and_read():
    sentence = in_comments(*PARTS)
    assert sentence.forbidden == PARTS
    [with_entities] = entity_notes.read(io.BytesIO(str(sentence).encode()))
    assert with_entities.forbidden == PARTS
    assert sentence.annotated(head=[2, 0, 2]).forbidden == PARTS
    assert conllu.from_forms(["It"]).forbidden == []


@given(st.sampled_from(["tag", "arc", "span"]), st.integers(1, 9), LABELS)
def test_every_label_comes_back(kind, number, label):
    place = {"tag": (number,), "arc": (number, 0), "span": (0, number)}[kind]
    part = Part(kind, place, label)
    assert part_of(part.as_json(), 9) == part
    sentence = conllu.from_forms(["w"] * 9, [part.comment()] if "\n" not in part.comment() else [])
    assert sentence.forbidden in ([part], [])


@pytest.mark.parametrize(
    "item",
    [
        {"word": 4, "tag": "NN"},
        {"word": 0, "tag": "NN"},
        {"word": True, "tag": "NN"},
        {"word": 1, "tag": ""},
        {"word": 1, "tag": 3},
        {"word": 1, "head": 1},
        {"word": 1, "head": 4},
        {"word": 1, "head": "2"},
        {"word": 1, "head": 2, "tag": "NN"},
        {"start": 1, "end": 1, "label": "NP"},
        {"start": 0, "end": 4, "label": "NP"},
        ["word", 1],
        None,
    ],
)
def test_what_is_no_part_is_refused(item):
    with pytest.raises(ValueError, match="is not a part of a structure over 3 words; write"):
        part_of(item, 3)


@pytest.mark.parametrize("text", ['{"word": 7, "tag": "NN"}', "word 2", "{"])
def test_a_comment_at_fault_is_named_with_its_line(text):
    text = f"# newdoc\n# forbidden = {text}\n{in_comments()}"
    [sentence] = conllu.read(io.BytesIO(text.encode()))
    with pytest.raises(DataError, match=r"<stream>:2: .*; write \{") as raised:
        _ = sentence.forbidden
    assert raised.value.line == 2


def json_line(**more):
    line = json.dumps({"tokens": ["Ada", "spoke"], "entities": [], **more})
    return next(json_lines.read(io.BytesIO(line.encode() + b"\n")))


def test_json_lines_say_that_they_are_partial_and_what_is_forbidden():
    sentence = json_line(partial=True, forbidden=[{"start": 0, "end": 1, "label": "A\tB"}])
    assert sentence.is_partial
    assert sentence.forbidden == [Part("span", (0, 1), "A\tB")]
    assert sentence.annotated(entities=[]).is_partial
    assert not json_line().is_partial
    assert json_line().forbidden == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"partial": 1}, "partial is 1; give true or false"),
        ({"forbidden": {}}, "the forbidden spans are {}; give a list of spans"),
        ({"forbidden": [{"word": 1, "head": 2}]}, "is not a span; write"),
        ({"forbidden": [{"start": 0, "end": 3, "label": "A"}]}, "is not a part of a structure over 2 words"),
    ],
)
def test_json_lines_at_fault_are_named(more, message):
    with pytest.raises(DataError, match=f"<stream>:1: .*{message}"):
        json_line(**more)


def test_a_comment_says_that_entities_are_partial():
    marked = conllu.from_forms(["Ada"], ["# entities = partial"])
    [sentence] = entity_notes.read(io.BytesIO(str(marked).encode()))
    assert sentence.is_partial
    [plain] = entity_notes.read(io.BytesIO(str(conllu.from_forms(["Ada"])).encode()))
    assert not plain.is_partial


def test_parts_are_forbidden_in_addition_to_others():
    span = Part("span", (0, 1), "LOC")
    for sentence in (in_comments(PARTS[0]), json_line(forbidden=[PARTS[3]._replace(place=(0, 2)).as_json()])):
        before = sentence.forbidden
        assert sentence.forbidding([span]).forbidden == [*before, span]
        assert sentence.forbidden == before
        assert sentence.forbidding([]) == sentence
    with pytest.raises(ValueError, match="JSON lines can forbid spans only"):
        json_line().forbidding([Part("tag", (1,), "NN")])
    with pytest.raises(ValueError, match="this format cannot forbid parts"):
        next(columns.read(io.BytesIO(b"Ada\tB-PER\n\n"))).forbidding([span])


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part("span", (0, 4), "LOC"), r'parts: \{"start": 0, "end": 4, "label": "LOC"\} is not a part'),
        (Part("span", (0, 1), ""), "parts: .* is not a part of a structure"),
        (Part("span", (0,), "LOC"), "expected a kind and its place, one of tag .*word"),
        (Part("token", (1,), "LOC"), r"parts: got \('token', \(1,\), 'LOC'\); expected"),
    ],
)
def test_a_part_outside_the_sentence_cannot_be_forbidden(part, message):
    plain = in_comments()
    [with_entities] = entity_notes.read(io.BytesIO(str(plain).encode()))
    for sentence in (plain, with_entities, json_line()):
        with pytest.raises(ValueError, match=message if part.kind == "span" or sentence is plain else "parts: "):
            sentence.forbidding([part])


def test_sentences_are_marked_as_partial_once():
    [sentence] = entity_notes.read(io.BytesIO(str(conllu.from_forms(["Ada"], ["# text = Ada"])).encode()))
    marked = sentence.as_partial()
    assert marked.plain.comments == ["# text = Ada", "# entities = partial"]
    assert marked.as_partial() == marked
    assert str(json_line().as_partial().as_partial()).count("partial") == 1
    with pytest.raises(ValueError, match="this format cannot say that entities are partly annotated"):
        next(layers.read(io.BytesIO(b"Ada\tB-PER\n\n"))).as_partial()


def test_a_comment_is_one_line_with_a_mark():
    for text in ("text", "# a\n# b", "# a\r", "# a\0", ""):
        with pytest.raises(ValueError, match="comments: got one that is not a single line beginning with '#'"):
            in_comments().with_comments([text])


def test_a_complete_sentence_forbids_no_parts_of_its_kind():
    sentence = in_comments(*PARTS).with_comments(['# forbidden = {"word": 7}', "# note"])
    assert sentence.completed("arc").comments == [
        PARTS[0].comment(), PARTS[3].comment(), '# forbidden = {"word": 7}', "# note"
    ]
    assert sentence.completed("tag", "arc", "span").forms == sentence.forms
    plain = conllu.from_forms(["It"])
    assert plain.completed("tag", "arc", "span") is plain


def test_a_complete_sentence_is_not_partial():
    text = f"# entities = partial\n{PARTS[3].comment()}\n{PARTS[0].comment()}\n{in_comments()}"
    [sentence] = entity_notes.read(io.StringIO(text))
    assert sentence.completed("tag", "arc").is_partial
    complete = sentence.completed("span")
    assert (complete.plain.comments, complete.is_partial) == ([PARTS[0].comment()], False)
    assert complete.completed("span") is complete


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"tokens": ["a"], "partial": true, "id": 1.0}', '{"tokens": ["a"], "id": 1.0}'),
        ('{ "partial": true , "tokens": ["a"] }', '{ "tokens": ["a"] }'),
        (
            '{"tokens": ["a"], "forbidden": [{"start": 0, "end": 1, "label": "X"}], "partial": false}',
            '{"tokens": ["a"]}',
        ),
        ('{"tokens": ["a"], "partial": false}', '{"tokens": ["a"], "partial": false}'),
    ],
)
def test_complete_json_lines_keep_their_other_keys(line, expected):
    [sentence] = json_lines.read(io.StringIO(line))
    assert str(sentence.completed("tag", "arc")) == line + "\n"
    complete = sentence.completed("span")
    assert str(complete).replace("{ ", "{") == expected.replace("{ ", "{") + "\n"
    assert (complete.is_partial, complete.forbidden) == (False, [])
