"""Positions of the values of a JSON object in its text, to replace one and keep the rest byte for byte."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_COMMA = re.compile(r"^[ \t\n\r]*,[ \t\n\r]*")


class Member(NamedTuple):
    """A key of an object, and the position of its value.

    Attributes:
        key: The key, without its escapes.
        start: Position of the first character of its value.
        end: Position after its last character.
    """

    key: str
    start: int
    end: int


def members(text: str) -> list[Member]:
    """Return the members of an object in order; members of nested objects are part of the values.

    Args:
        text: A valid JSON object.

    Examples:
        >>> members('{"id": 1.50, "x": {"y": []}}')
        [Member(key='id', start=7, end=11), Member(key='x', start=18, end=27)]
    """
    result: list[Member] = []
    position = _after_space(text, text.index("{") + 1)
    while text[position] != "}":
        key, end = _DECODER.raw_decode(text, position)
        start = _after_space(text, _after_space(text, end) + len(":"))
        _, end = _DECODER.raw_decode(text, start)
        result.append(Member(key, start, end))
        position = _after_space(text, end)
        if text[position] == ",":
            position = _after_space(text, position + 1)
    return result


def around(text: str, key: str) -> tuple[str, str]:
    """Return the text of an object before and after the value of a key; a missing key is added at the end.

    Args:
        text: A valid JSON object with at least one member and no repeated keys.
        key: The key.

    Examples:
        >>> around('{"id": 1.50, "x": [ ]}', "id")
        ('{"id": ', ', "x": [ ]}')
        >>> around('{"id": 1.50 }', "x")
        ('{"id": 1.50, "x": ', ' }')
    """
    entries = members(text)
    for member in entries:
        if member.key == key:
            return text[: member.start], text[member.end :]
    end = entries[-1].end
    return f"{text[:end]}, {json.dumps(key)}: ", text[end:]


def without(text: str, *keys: str) -> str:
    """Return the text of an object without some keys and their values.

    Args:
        text: A valid JSON object in which other keys remain.
        keys: The keys; those that the object does not have are ignored.

    Examples:
        >>> without('{"id": 1.50, "x": [ ], "y": 2 }', "x"), without('{"id": 1.50, "x": [ ]}', "id")
        ('{"id": 1.50, "y": 2 }', '{"x": [ ]}')
    """
    entries = members(text)
    start, end = text.index("{") + 1, entries[-1].end
    ends = [start, *(entry.end for entry in entries)]
    kept = [
        text[before : entry.end] for before, entry in zip(ends, entries, strict=False) if entry.key not in keys
    ]
    return text[:start] + _COMMA.sub("", "".join(kept), 1) + text[end:]


def repeated_key(text: str) -> str | None:
    """Return the first repeated key of a JSON object (most readers drop one of its values), or None.

    Examples:
        >>> repeated_key('{"a": 1, "b": 2, "a": 3}'), repeated_key('{"a": {"b": 1}, "b": 2}')
        ('a', None)
    """
    keys: set[str] = set()
    for member in members(text):
        if member.key in keys:
            return member.key
        keys.add(member.key)
    return None


def _after_space(text: str, position: int) -> int:
    """Return the position after the white space that begins at a position."""
    match = _SPACE.match(text, position)
    assert match is not None, "white space may be empty"
    return match.end()
