"""Parts of structures that an annotation forbids, as JSON in comments of CoNLL-U and in JSON lines."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from strukt.data.files.blocks import Block
from strukt.data.files.problems import Problem, Report, stop

PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"tag": ("word",), "arc": ("word", "head"), "span": ("start", "end")}
)
"""The fields with the place of a part, by the kind of the part."""

LABELS: Mapping[str, str] = MappingProxyType({"tag": "tag", "arc": "relation", "span": "label"})
"""The field with the label of a part, by the kind of the part; arcs need none."""

_COMMENT = "# forbidden = "
_REMEDY = 'write {"word": 2, "tag": "NN"}, {"word": 2, "head": 0} or {"start": 0, "end": 2, "label": "NP"}'


class Part(NamedTuple):
    """A part of a structure: the tag of a word, an arc with or without a relation, or a labelled span.

    Attributes:
        kind: "tag", "arc" or "span".
        place: The word of a tag; the word and the head of an arc; start and end of a span. Words are counted from
            1, and 0 is the root. A span from `start` to `end` has the words `start + 1` to `end`.
        label: The tag, the relation of the arc, or the label of the span; an empty string for an arc with any
            relation.
    """

    kind: str
    place: tuple[int, ...]
    label: str

    def as_json(self) -> dict[str, Any]:
        """Return the part as a JSON object.

        Examples:
            >>> Part("arc", (2, 0), "").as_json(), Part("span", (0, 2), "NP").as_json()
            ({'word': 2, 'head': 0}, {'start': 0, 'end': 2, 'label': 'NP'})
        """
        fields: dict[str, Any] = dict(zip(PLACES[self.kind], self.place, strict=True))
        return fields | ({LABELS[self.kind]: self.label} if self.label or self.kind != "arc" else {})

    def comment(self) -> str:
        """Return the comment that forbids the part of a sentence in CoNLL-U.

        Examples:
            >>> Part("tag", (3,), "NN").comment()
            '# forbidden = {"word": 3, "tag": "NN"}'
        """
        return _COMMENT + json.dumps(self.as_json(), ensure_ascii=False)


def part_of(item: object, length: int) -> Part:
    """Return the part that a JSON value describes.

    Args:
        item: The JSON value, an object as `Part.as_json` returns it.
        length: Number of words of the sentence.

    Raises:
        ValueError: If the value describes no part of a structure of the sentence.

    Examples:
        >>> part_of({"word": 2, "head": 0, "relation": "root"}, 2)
        Part(kind='arc', place=(2, 0), label='root')
    """
    fields = item if isinstance(item, dict) else {}
    for kind, places in PLACES.items():
        if fields.keys() in ({*places, LABELS[kind]}, {*places}):
            place, label = tuple(fields[name] for name in places), fields.get(LABELS[kind], "")
            if _is_place(kind, place, length) and isinstance(label, str) and (label or kind == "arc"):
                return Part(kind, place, label)
    shown = json.dumps(item, ensure_ascii=False)
    raise ValueError(f"{shown} is not a part of a structure over {length} words; {_REMEDY}")


def check_parts(parts: Sequence[Part], length: int) -> None:
    """Check that parts can be forbidden for a sentence of `length` words.

    Raises:
        ValueError: If one of them is not a part of a structure of the sentence.

    Examples:
        >>> check_parts([Part("tag", (2,), "NN"), Part("arc", (3, 0), "")], length=2)
        Traceback (most recent call last):
        ValueError: parts: {"word": 3, "head": 0} is not a part of a structure over 2 words; write ...
    """
    for part in parts:
        if len(part.place) != len(PLACES.get(part.kind, ())):
            kinds = ", ".join(f"{kind} ({', '.join(places)})" for kind, places in PLACES.items())
            raise ValueError(f"parts: got {tuple(part)}; expected a kind and its place, one of {kinds}")
        try:
            part_of(part.as_json(), length)
        except ValueError as error:
            raise ValueError(f"parts: {error}") from None


def _is_place(kind: str, place: Sequence[Any], length: int) -> bool:
    """Return True if a sentence of `length` words has a part of this kind at this place."""
    if not all(type(number) is int for number in place):
        return False
    first, last = place[0], place[-1]
    if kind == "span":
        return bool(0 <= first < last <= length)
    is_head = kind == "tag" or (0 <= last <= length and last != first)
    return bool(1 <= first <= length and is_head)


def without_forbidden(lines: Sequence[str], kinds: Collection[str], length: int) -> list[str]:
    r"""Return the lines of a CoNLL-U sentence without the comments that forbid parts of some kinds.

    Args:
        lines: The lines of the sentence.
        kinds: The kinds of the parts; comments that describe no part stay.
        length: Number of words of the sentence.

    Examples:
        >>> without_forbidden(['# forbidden = {"word": 1, "head": 2}', "1\tIt"], ["arc"], 2)
        ['1\tIt']
    """

    def stays(text: str) -> bool:
        if not text.startswith(_COMMENT):
            return True
        try:
            return part_of(json.loads(text.removeprefix(_COMMENT)), length).kind not in kinds
        except ValueError:
            return True

    return [*filter(stays, lines)]


def forbidden_in(block: Block, length: int, report: Report = stop) -> list[Part]:
    r"""Return the parts that the comments of a CoNLL-U sentence forbid.

    Args:
        block: The lines of the sentence.
        length: Number of words of the sentence.
        report: Called with a problem for each such comment that describes no part.

    Raises:
        DataError: If `report` raises it, as it does by default; the error names the line of the comment.

    Examples:
        >>> forbidden_in(Block(['# forbidden = {"word": 1, "head": 2}', "1\tIt"], ""), 2)
        [Part(kind='arc', place=(1, 2), label='')]
    """
    result = []
    for line, text in enumerate(block.lines, block.line):
        if text.startswith(_COMMENT):
            try:
                result.append(part_of(json.loads(text.removeprefix(_COMMENT)), length))
            except ValueError as error:
                message, _, remedy = str(error).partition("; ")
                remedy = remedy or _REMEDY
                report(Problem("forbidden", message, remedy, block.path, line))
    return result
