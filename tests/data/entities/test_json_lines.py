"""JSON lines of entities: exactly what was read, or one clear line with file and line number."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.entities.test_mentions import entities
from tests.data.sources import stream
from tests.fuzz.grammars import attempt, mutated, mutations, text

from strukt.data.entities import Entity, json_lines, ordered
from strukt.errors import DataError

LINE = (
    '{"id": 1.50,"tokens": ["Zoë", "of", "K\\u00f6ln"],  '
    '"entities": [{"start": 0, "end": 3, "type": "PER", "x": 1}]}'
)
CROSSING = (
    '{"tokens": ["a", "b", "c"], '
    '"entities": [{"start": 1, "end": 3, "type": "Y"}, {"start": 0, "end": 2, "type": "X"}]}'
)


def named(content):
    return stream(content, "fuzz.jsonl")


def read(content):
    return list(json_lines.read(named(content)))


def test_lines_go_round():
    text = f"{LINE}\n{CROSSING}\n"
    sentences = read(text)
    assert "".join(map(str, sentences)) == text
    assert [sentence.line for sentence in sentences] == [1, 2]
    assert sentences[0].forms == sentences[0].column("form") == ["Zoë", "of", "Köln"]
    assert sentences[0].entities == [Entity(0, 3, "PER")]
    assert sentences[1].line_of(2) == 2
    assert sentences[1].entities == [Entity(0, 2, "X"), Entity(1, 3, "Y")], "they may cross, in any order"


def test_annotated_replaces_the_entities_and_nothing_else():
    [sentence] = read(LINE)
    written = sentence.annotated(entities=[Entity(2, 3, "LOC"), Entity(0, 1, "PER")], probabilities=[0.25, 1])
    assert str(written) == (
        '{"id": 1.50,"tokens": ["Zoë", "of", "K\\u00f6ln"],  "entities": ['
        '{"start": 0, "end": 1, "type": "PER", "p": 1.0}, {"start": 2, "end": 3, "type": "LOC", "p": 0.25}]}\n'
    )
    assert sentence.annotated() is sentence
    assert str(sentence) == LINE + "\n"
    without = sentence.annotated(entities=[])
    assert (without.entities, without.is_annotated, str(without)) == (
        [],
        True,
        f"{LINE[: LINE.index('[{')]}[]}}\n",
    )


@pytest.mark.parametrize(
    "line",
    [
        '{"a": 0.10, "b": 1.0E5, "c": 3.14159265358979323846264, "d": -0, "tokens": ["x"], "entities": @}',
        ' {"tokens" : ["\\ud83d\\ude02","\\/"] ,"entities":@ , "z" : {"entities": [], "a": 1, "a": 2} } ',
        '{"\\u0065ntities": @,"tokens":["x"],"text":"\\"entities\\": [1], }{"}',
        '{"tokens": ["x"], "nested": [{"entities": [{}]}],\t"entities"\t:\t@\t}',
    ],
)
def test_what_is_no_entity_is_kept_to_the_byte(line):
    for old in ("[]", '[ {"type":"\\u0041", "end":1, "start":0, "score": 0.50} ]'):
        [sentence] = read(line.replace("@", old))
        written = sentence.annotated(entities=[Entity(0, 1, "X")])
        new = '[{"start": 0, "end": 1, "type": "X"}]'
        assert str(written) == line.replace("@", new) + "\n"
        assert str(written.annotated(entities=[])) == line.replace("@", "[]") + "\n"
        assert read(str(written)) == [written]


def test_entities_are_added_after_all_other_keys():
    [sentence] = read('{"tokens":["}"],"x":1.0 } ')
    assert str(sentence.annotated(entities=[])) == '{"tokens":["}"],"x":1.0, "entities": [] } \n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"entities": [Entity(0, 4, "X")]}, "does not lie in a sentence of 3 words"),
        ({"entities": [], "probabilities": [0.5]}, "probabilities: got 1 for 0 entities"),
        ({"probabilities": []}, "there are no entities; give entities, too"),
        ({"entities": [Entity(0, 1, "X")], "probabilities": [float("nan")]}, r"got \[nan\]; JSON"),
        ({"upos": ["X"] * 3}, "JSON lines have no column 'upos'"),
    ],
)
def test_annotated_refuses(arguments, message):
    [sentence] = read(LINE)
    with pytest.raises(ValueError, match=message):
        sentence.annotated(**arguments)


def spanned(entities):
    return f'{{"tokens": ["a", "b"], "entities": {entities}}}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "the line is not JSON: Expecting"),
        ('{"tokens": ["a"], "x": NaN}', "the line is not JSON: NaN is not a JSON number"),
        ('{"tokens": ["a"], "x": 1e999}', "1e999 is too large a number"),
        ('{"tokens": ["a"], "x": ' + "1" * 5000 + "}", "the line is not JSON"),
        ("[" * 50_000, "the line is nested too deeply"),
        ("7", "the line is not a JSON object but 7"),
        ('{"tokens": []}', "the object has no tokens"),
        ('{"tokens": ["a"], "id": 1, "id": 1}', "the object has the key 'id' twice; keep one of them"),
        ('{"tokens": ["a"], "entities": [], "\\u0065ntities": []}', "has the key 'entities' twice"),
        ('{"tokens": ["a", 1]}', "the token 1 is 1"),
        ('{"tokens": "ab"}', "the object has no tokens"),
        ('{"tokens": [""]}', "the token 0 is ''"),
        ('{"tokens": [" "]}', "the token 0 is ' '"),
        ('{"tokens": ["a\\nb"]}', r"the token 0 is 'a\nb'"),
        ('{"tokens": ["a\\tb"]}', r"the token 0 is 'a\tb'"),
        ('{"tokens": ["\\ud83d"]}', "an unpaired surrogate escape"),
        (spanned('{"PER": [[0, 1]]}'), "the entities are {'PER': [[0, 1]]}; write them as [{"),
        (spanned("null"), "the entities are None"),
        (spanned('[[0, 1, "PER"]]'), "an entity is [0, 1, 'PER']"),
        (spanned('[{"start": 0, "end": 3, "type": "X"}]'), "start 0 and end 3 in a sentence of 2 tokens"),
        (spanned('[{"start": -1, "end": 1, "type": "X"}]'), "start -1 and end 1"),
        (spanned('[{"start": 1, "end": 1, "type": "X"}]'), "use 0 <= start < end <= 2"),
        (spanned('[{"start": false, "end": 1, "type": "X"}]'), "start False and end 1"),
        (spanned('[{"end": 1, "type": "X"}]'), "start None and end 1"),
        (spanned('[{"start": 0, "end": 1, "label": "X"}]'), "has type None; give its type"),
        (spanned('[{"start": 0, "end": 1, "type": ""}]'), "has type ''"),
    ],
)
def test_broken_lines(line, message):
    with pytest.raises(DataError) as caught:
        read(f"{LINE}\n{line}\n")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert (caught.value.path, caught.value.line) == ("fuzz.jsonl", 2)
    problems = []
    assert len(list(json_lines.read(named(f"{LINE}\n{line}\n{LINE}\n".encode()), problems.append))) == 2
    assert [problem.line for problem in problems] == [2]


def test_plain_text():
    first, second = json_lines.read_text(named("Zoë spoke .\n\n  Yes\t!\n".encode()))
    assert str(first) == '{"tokens": ["Zoë", "spoke", "."]}\n'
    assert (second.forms, second.line, second.path) == (["Yes", "!"], 3, "fuzz.jsonl")
    assert (second.is_annotated, second.entities) == (False, [])
    assert read(str(second.annotated(entities=[Entity(0, 2, "X")])))[0].entities == [Entity(0, 2, "X")]
    with pytest.raises(DataError, match="the file holds no sentence"):
        list(json_lines.read_text(named(b"\n \n")))


@given(st.lists(text.filter(str.strip), min_size=15, max_size=15), entities, st.booleans())
def test_what_is_written_is_read(tokens, found, ascii_only):
    line = json.dumps({"tokens": tokens, "key": tokens}, ensure_ascii=ascii_only)
    [sentence] = read(line)
    assert str(sentence) == line + "\n"
    written = sentence.annotated(entities=found)
    [again] = read(str(written))
    assert again.entities == written.entities == ordered(found)
    assert again.forms == tokens
    assert again.annotated(entities=found) == written


@settings(max_examples=3 * settings().max_examples)
@given(mutations)
def test_changed_bytes_that_can_be_read_can_be_annotated(changes):
    sentences, _ = attempt(read, mutated(f"{LINE}\n{CROSSING}\n".encode(), changes))
    for sentence in sentences or []:
        assert read(str(sentence.annotated(entities=sentence.entities)))[0].entities == sentence.entities
