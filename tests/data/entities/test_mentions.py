"""Nesting, crossing and depth of entities, against their definitions pair by pair."""

import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data.entities import (
    Entity,
    check_entities,
    crossings,
    depths,
    json_lines,
    ordered,
    require_nested,
)
from strukt.errors import DataError

spans = st.tuples(st.integers(0, 9), st.integers(1, 6)).map(lambda pair: (pair[0], pair[0] + pair[1]))
entities = st.lists(
    st.builds(lambda span, label: Entity(*span, label), spans, st.sampled_from("XYZ")), max_size=9
)


def contains(outer, inner):
    return outer[:2] != inner[:2] and outer.start <= inner.start and inner.end <= outer.end


def cross(a, b):
    return a.start < b.start < a.end < b.end or b.start < a.start < b.end < a.end


@given(entities)
def test_depths_count_what_contains(found):
    assert depths(found) == [sum(contains(other, entity) for other in found) for entity in found]


@given(entities)
def test_crossings_are_those_that_cross_and_the_rest_is_nested(found):
    pairs = crossings(found)
    assert all(
        cross(first, second) and ordered((first, second)) == [first, second] for first, second in pairs
    )
    rest = set(found) - {second for _, second in pairs}
    assert not any(cross(a, b) for a in rest for b in rest)
    assert bool(pairs) == any(cross(a, b) for a in found for b in found)


@given(entities)
def test_order(found):
    result = ordered(found)
    assert set(result) == set(found)
    assert len(result) == len(set(found))
    for before, after in pairwise(result):
        assert (before.start, after.end, before.label) < (after.start, before.end, after.label)


def test_many_entities_inside_each_other():
    nested = [Entity(0, end, "A") for end in range(5000, 0, -1)]
    assert depths(nested) == list(range(5000))
    assert crossings(nested) == []


def sentence(text):
    [found] = json_lines.read(io.BytesIO(text.encode()))
    return found


def test_require_nested():
    nested = sentence('{"tokens": ["a", "b"], "entities": [{"start": 0, "end": 2, "type": "X"}]}')
    assert require_nested(nested) is nested
    spans = '{"start": 0, "end": 2, "type": "X"}, {"start": 1, "end": 3, "type": "Y"}'
    with pytest.raises(DataError) as caught:
        require_nested(sentence(f'{{"tokens": ["a", "b", "c"], "entities": [{spans}]}}'))
    assert str(caught.value) == (
        "<stream>:1: the entity 'Y' of words 2 to 3 crosses the entity 'X' of words 1 to 2; "
        "let one contain the other, or shorten one"
    )
    with pytest.raises(DataError, match="is not annotated with entities"):
        require_nested(sentence('{"tokens": ["a"]}'))


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        (Entity(-1, 1, "X"), "does not lie in a sentence of 3 words"),
        (Entity(1, 1, "X"), "expected 0 <= start < end <= 3"),
        (Entity(2, 4, "X"), r"\(2, 4, 'X'\) does not lie"),
        (Entity(0, 1, ""), "the type '' cannot be written"),
        (Entity(0, 1, "a\tb"), "cannot be written"),
    ],
)
def test_entities_that_cannot_be_written(entity, message):
    check_entities([Entity(0, 3, "X")], 3)
    with pytest.raises(ValueError, match=message):
        check_entities([Entity(0, 3, "X"), entity], 3)
