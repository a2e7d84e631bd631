"""Where values stand in the text of an object, for objects of any form and spacing."""

import json

from hypothesis import given
from hypothesis import strategies as st

from strukt.data.entities.json_text import around, members, repeated_key

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
spaces = st.text(" \t\r\n", max_size=2)


@st.composite
def objects(draw):
    """Pairs of keys and values, some keys perhaps twice, and a text of them in some spacing."""
    pairs = draw(st.lists(st.tuples(st.text(max_size=2), values), max_size=4))
    ascii_only = draw(st.booleans())
    texts = [[json.dumps(part, ensure_ascii=ascii_only) for part in pair] for pair in pairs]
    text = ",".join("".join((draw(spaces), key, draw(spaces), ":", draw(spaces), value, draw(spaces)))
                    for key, value in texts)  # fmt: skip
    return pairs, f"{draw(spaces)}{{{text or draw(spaces)}}}{draw(spaces)}"


@given(objects())
def test_members_are_found_in_their_order(drawn):
    pairs, text = drawn
    found = members(text)
    assert [(member.key, json.loads(text[member.start : member.end])) for member in found] == pairs
    assert all(text[member.start : member.end].strip() == text[member.start : member.end] for member in found)


@given(objects(), st.text(max_size=2), values)
def test_a_value_is_replaced_or_added(drawn, key, value):
    pairs, text = drawn
    expected = dict(pairs)
    repeated = len(expected) < len(pairs)
    assert (repeated_key(text) is not None) == repeated
    if pairs and not repeated:
        written = json.dumps(value).join(around(text, key))
        assert list(json.loads(written).items()) == list((expected | {key: value}).items())
        assert around(written, key) == around(text, key)
