"""JSON lines of entities: each line is an object with the words of a sentence and the spans of its entities."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from reprlib import repr as shortened
from typing import Any, ClassVar, NoReturn

from typing_extensions import override

from strukt.data.entities import mentions
from strukt.data.entities.json_text import around, repeated_key, without
from strukt.data.entities.mentions import Entity, check_entities, ordered
from strukt.data.files import Source
from strukt.data.files.blocks import Block
from strukt.data.files.line_blocks import LineError, parsed, text_blocks
from strukt.data.files.problems import PLAIN_TEXT, Report, stop
from strukt.data.line_sentence import LineSentence
from strukt.data.parts import Part, check_parts, part_of

LAYOUT = '[{"start": 0, "end": 2, "type": "PER"}, ...]'
"""The format of the entities of a sentence; words are counted from 0, and `end` is exclusive."""

_SURROGATE = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


class Sentence(LineSentence, mentions.Sentence):
    r"""A line such as `{"tokens": ["Ada", "spoke"], "entities": [{"start": 0, "end": 1, "type": "PER"}]}`.

    Other keys of the object are kept, and numbers, escapes and spaces stay as written. Text to be annotated has
    no key `entities`. With `"partial": true`, the sentence may have further entities; `forbidden` lists entities
    that it does not have, such as `{"start": 0, "end": 1, "label": "LOC"}`.

    Args:
        block: The line of the file.
        tokens: The words.
        entities: The entities; None without the key.
        around: The text of the line before and after the entities.
        is_partial: Whether there may be further entities.
        forbidden: The spans that the sentence does not have.

    Examples:
        >>> from strukt.data.entities import Entity
        >>> from strukt.data.entities.json_lines import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b'{"id": 7.0, "tokens": ["Ada", "spoke"]}\n'))
        >>> print(sentence.annotated(entities=[Entity(0, 1, "PER")], probabilities=[0.5]), end="")
        {"id": 7.0, "tokens": ["Ada", "spoke"], "entities": [{"start": 0, "end": 1, "type": "PER", "p": 0.5}]}
    """

    __slots__ = ("_around", "_entities", "_forbidden", "_is_partial", "_tokens")
    plural: ClassVar[str] = "JSON lines"
    annotation: ClassVar[str] = "entities"

    def __init__(
        self,
        block: Block,
        tokens: list[str],
        entities: list[Entity] | None,
        around: tuple[str, str],
        is_partial: bool = False,
        forbidden: Sequence[Part] = (),
    ) -> None:
        super().__init__(block)
        self._is_partial = is_partial
        self._forbidden = forbidden
        self._tokens = tokens
        self._entities = entities
        self._around = around  # text before and after the entities

    @property
    def forms(self) -> list[str]:
        """The tokens."""
        return list(self._tokens)

    @property
    def entities(self) -> list[Entity]:
        """The entities; they may cross."""
        return list(self._entities or ())

    @property
    def is_annotated(self) -> bool:
        """True if the object has the key `entities`."""
        return self._entities is not None

    @property
    def is_partial(self) -> bool:
        """True if the object has `"partial": true`."""
        return self._is_partial

    @property
    def forbidden(self) -> list[Part]:
        """The spans under the key `forbidden`."""
        return list(self._forbidden)

    @override
    def forbidding(self, parts: Sequence[Part]) -> Sentence:
        if any(part.kind != "span" for part in parts):
            raise ValueError("parts: JSON lines can forbid spans only; give CoNLL-U")
        check_parts(parts, len(self._tokens))
        spans = [part.as_json() for part in [*self._forbidden, *parts]]
        return self._with("forbidden", spans) if parts else self

    @override
    def as_partial(self) -> Sentence:
        return self._with("partial", True)

    @override
    def completed(self, *kinds: str) -> Sentence:
        if "span" not in kinds or not (self._is_partial or self._forbidden):
            return self
        return _sentence(self.block_with(without(self.block.lines[0], "partial", "forbidden")))

    def _with(self, key: str, value: object) -> Sentence:
        """Return a copy with another value of a key, which is added at the end if it is missing."""
        text = json.dumps(value, ensure_ascii=False).join(around(self.block.lines[0], key))
        return _sentence(self.block_with(text))

    def line_of(self, position: int) -> int:  # noqa: ARG002
        """Return the line number of the sentence, which all its words share, whatever the `position`."""
        return self.line

    def annotated(
        self,
        *,
        entities: Sequence[Entity] | None = None,
        probabilities: Sequence[float] | None = None,
        **columns: Any,
    ) -> Sentence:
        """Return a copy with these entities, each with its probability as `p` if given; everything else is kept.

        If `entities` is None, the present ones are kept, and there may be no probabilities.

        Raises:
            ValueError: If an entity lies outside the sentence, its type cannot be written to a file, there is not
                one finite probability for each entity, or a column is named: this format has none.
        """
        if columns:
            raise ValueError(f"JSON lines have no column {min(columns)!r}; give entities")
        if entities is None:
            if probabilities is not None:
                raise ValueError("probabilities: there are no entities; give entities, too")
            return self
        check_entities(entities, len(self._tokens))
        if probabilities is not None and len(probabilities) != len(entities):
            raise ValueError(f"probabilities: got {len(probabilities)} for {len(entities)} entities")
        if not all(map(math.isfinite, probabilities or ())):
            raise ValueError(f"probabilities: got {[*map(float, probabilities or ())]}; JSON needs finite numbers")
        notes = {} if probabilities is None else dict(zip(entities, map(float, probabilities), strict=True))
        in_order = ordered(entities)
        spans = [
            {"start": entity.start, "end": entity.end, "type": entity.label}
            | ({"p": notes[entity]} if entity in notes else {})
            for entity in in_order
        ]
        text = json.dumps(spans, ensure_ascii=False, allow_nan=False).join(self._around)
        block = self.block_with(text)
        return Sentence(block, self._tokens, in_order, self._around, self._is_partial, self._forbidden)


def read(source: Source, report: Report = stop) -> Iterator[Sentence]:
    """Read JSON lines lazily and losslessly; blank lines are dropped, with one warning per file.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, a malformed sentence is left out.

    Raises:
        DataError: If the file cannot be opened. With the default report, also if it cannot be read to its end, is
            empty, or a line is malformed. The error names file and line.

    Examples:
        >>> import io
        >>> line = b'{"tokens": ["Ada", "spoke"], "entities": [{"start": 0, "end": 1, "type": "PER"}]}'
        >>> [sentence] = read(io.BytesIO(line))
        >>> sentence.forms, sentence.entities
        (['Ada', 'spoke'], [Entity(start=0, end=1, label='PER')])
    """
    return parsed(source, report, "json", _sentence)


def read_text(source: Source) -> Iterator[Sentence]:
    r"""Read plain text lazily, ready to be annotated: one sentence per line, words separated by white space.

    Blank lines are skipped.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read, is not UTF-8 text, or has no sentences.

    Examples:
        >>> import io
        >>> [sentence] = read_text(io.BytesIO(b"Ada spoke .\n"))
        >>> print(sentence, end="")
        {"tokens": ["Ada", "spoke", "."]}
    """
    for block in text_blocks(source):
        tokens = block.lines[0].split()
        line = json.dumps({"tokens": tokens}, ensure_ascii=False)
        yield Sentence(replace(block, lines=[line]), tokens, None, around(line, "entities"))


def _sentence(block: Block) -> Sentence:
    (line,) = block.lines
    remedy = 'write {"tokens": [...], "entities": [...]}'
    content = json_object(line, remedy if line.lstrip().startswith("{") else f"{remedy}; {PLAIN_TEXT}")
    tokens = content.get("tokens")
    if not isinstance(tokens, list) or not tokens:
        raise LineError("the object has no tokens", 'give "tokens": ["first", "second", ...]')
    for position, token in enumerate(tokens):
        if not isinstance(token, str) or not token.strip() or any(mark in token for mark in "\t\n\r\0"):
            message = f"the token {position} is {shortened(token)}"
            raise LineError(message, "give non-empty text without tabs, line breaks or NUL")
    spans = content.get("entities", [])
    if not isinstance(spans, list):
        raise LineError(f"the entities are {shortened(spans)}", f"write them as {LAYOUT}")
    entities = ordered(_entity(item, len(tokens)) for item in spans) if "entities" in content else None
    is_partial = content.get("partial", False)
    if not isinstance(is_partial, bool):
        raise LineError(f"partial is {shortened(is_partial)}", "give true or false")
    forbidden = content.get("forbidden", [])
    if not isinstance(forbidden, list):
        raise LineError(f"the forbidden spans are {shortened(forbidden)}", "give a list of spans")
    parts = [_forbidden(item, len(tokens)) for item in forbidden]
    return Sentence(block, tokens, entities, around(line, "entities"), is_partial, parts)


def json_object(text: str, remedy: str) -> dict[str, Any]:
    """Parse the JSON object on a line.

    Args:
        text: The line.
        remedy: The advice in the error if the line is not a JSON object.

    Raises:
        LineError: If the line is not a JSON object, is nested too deeply, or is read differently by different
            parsers (duplicate keys, NaN, numbers out of range, lone surrogates).
    """
    try:
        content = _DECODER.decode(text)
        if _SURROGATE.search(text):
            json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise LineError("the line has an unpaired surrogate escape", "write both halves of the pair") from None
    except RecursionError:
        raise LineError("the line is nested too deeply", "is this a corpus?") from None
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise LineError(f"the line is not JSON: {reason}", remedy) from None
    if not isinstance(content, dict):
        raise LineError(f"the line is not a JSON object but {shortened(content)}", remedy)
    if (key := repeated_key(text)) is not None:
        raise LineError(f"the object has the key {shortened(key)} twice", "keep one of them")
    return content


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError(f"{text} is too large a number")
    return value


# A number that JSON does not allow, or that is not finite in Python, counts as a fault of the file.
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def _forbidden(item: object, length: int) -> Part:
    """Parse a forbidden span of a sentence with `length` words."""
    try:
        part = part_of(item, length)
    except ValueError as error:
        message, _, remedy = str(error).partition("; ")
        raise LineError(message, remedy) from None
    if part.kind != "span":
        raise LineError(f"{shortened(item)} is not a span", 'write {"start": 0, "end": 1, "label": "PER"}')
    return part


def _entity(item: object, length: int) -> Entity:
    """Parse an entity of a sentence with `length` words."""
    if not isinstance(item, dict):
        raise LineError(f"an entity is {shortened(item)}", f"write the entities as {LAYOUT}")
    start, end, label = (item.get(key) for key in ("start", "end", "type"))
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= length:
        message = f"an entity has start {shortened(start)} and end {shortened(end)}"
        raise LineError(f"{message} in a sentence of {length} tokens", f"use 0 <= start < end <= {length}")
    if not isinstance(label, str) or not label or any(mark in label for mark in "\t\n\r\0"):
        message = f"the entity from {start} to {end} has type {shortened(label)}"
        raise LineError(message, "give its type as non-empty text without tabs, line breaks or NUL")
    return Entity(start, end, label)
