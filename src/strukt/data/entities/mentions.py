"""Named entities, flat or nested: the interface of all their formats, and the rules of nesting."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from strukt.data import sentence
from strukt.data.files.problems import Problem


class Entity(NamedTuple):
    """A mention of an entity: a span of words with a type.

    Attributes:
        start: Position of the first word, counted from 0.
        end: Position after the last word.
        label: The type of the entity.

    Examples:
        >>> words, entity = ["the", "Queen", "spoke"], Entity(0, 2, "person")
        >>> words[entity.start : entity.end]
        ['the', 'Queen']
    """

    start: int
    end: int
    label: str


class Sentence(sentence.Sentence):
    r"""A sentence with entities; implemented by `conllu.entity_notes`, `layers` and `json_lines`.

    A subclass also implements `entities`, `is_annotated` and `line_of`; it may override `is_partial` and
    `as_partial`.

    Examples:
        >>> import io
        >>> from strukt.data.entities import Entity, layers
        >>> [sentence] = layers.read(io.BytesIO(b"Ada\tO\nspoke\tO\n\n"))
        >>> sentence.annotated(entities=[Entity(0, 1, "person")]).entities
        [Entity(start=0, end=1, label='person')]
    """

    __slots__ = ()

    @property
    @abstractmethod
    def entities(self) -> list[Entity]:
        """The entities without duplicates, ordered by first word; with the same first word, longer ones first."""

    @property
    @abstractmethod
    def is_annotated(self) -> bool:
        """True if the file says which entities the sentence has; False for text to be annotated."""

    @property
    def is_partial(self) -> bool:
        """True if the file says that the sentence may have further entities, which are not annotated."""
        return False

    def as_partial(self) -> Sentence:
        """Return a copy that says that the sentence may have further entities.

        Raises:
            ValueError: If the format cannot say so.
        """
        raise ValueError("this format cannot say that entities are partly annotated; give CoNLL-U or JSON lines")

    @abstractmethod
    def line_of(self, position: int) -> int:
        """Return the line number in the file, from 1, of the word at `position`, from 0."""

    @abstractmethod
    def annotated(self, *, entities: Sequence[Entity] | None = None, **columns: Any) -> Sentence:
        """Return a copy with these entities in place of the present ones, and nothing else changed.

        Args:
            entities: The entities in any order; None to keep the present ones.
            columns: Other columns, or probabilities, in formats that have them.

        Raises:
            ValueError: If an entity lies outside the sentence, or its type cannot be written in the format.
        """


def ordered(entities: Iterable[Entity]) -> list[Entity]:
    """Return the entities without duplicates, by first word, then longer before shorter ones, then by label.

    Examples:
        >>> from strukt.data.entities import Entity
        >>> ordered([Entity(1, 2, "place"), Entity(0, 1, "time"), Entity(0, 2, "event")])[0]
        Entity(start=0, end=2, label='event')
    """
    return sorted(set(entities), key=lambda entity: (entity.start, -entity.end, entity.label))


def depths(entities: Sequence[Entity]) -> list[int]:
    """Return the nesting depth of each entity: the number of others that contain it, 0 for the outermost.

    An entity contains those whose span is shorter and lies inside its own; of two with the same span, neither
    contains the other.

    Complexity: O(m log m) comparisons for m entities.

    Examples:
        >>> from strukt.data.entities import Entity
        >>> depths([Entity(0, 3, "person"), Entity(2, 3, "place"), Entity(4, 5, "time")])
        [0, 1, 0]
    """

    def span(index: int) -> tuple[int, int]:
        return entities[index].start, -entities[index].end

    result = [0] * len(entities)
    ends: list[int] = []  # ends of spans that begin here or earlier, in ascending order
    for (_, negative_end), members in groupby(sorted(range(len(entities)), key=span), key=span):
        same = list(members)
        depth = len(ends) - bisect_left(ends, -negative_end)
        for index in same:
            result[index] = depth
            insort(ends, -negative_end)
    return result


def crossings(entities: Iterable[Entity]) -> list[tuple[Entity, Entity]]:
    """Return crossing pairs of entities, not always all of them; none if all entities are nested or disjoint.

    Two entities cross if they share words and each also has words that the other lacks. The entities are compared
    in the order of `ordered`. One that crosses an earlier one is the second of a pair, and is not compared with
    later ones.

    Complexity: that of sorting the entities, O(m log m) for m entities.

    Examples:
        >>> from strukt.data.entities import Entity
        >>> crossings([Entity(0, 2, "person"), Entity(1, 3, "place"), Entity(1, 2, "time")])
        [(Entity(start=0, end=2, label='person'), Entity(start=1, end=3, label='place'))]
    """
    pairs: list[tuple[Entity, Entity]] = []
    open_entities: list[Entity] = []  # each lies inside the previous one
    for entity in ordered(entities):
        while open_entities and open_entities[-1].end <= entity.start:
            open_entities.pop()
        if open_entities and open_entities[-1].end < entity.end:
            pairs.append((open_entities[-1], entity))
        else:
            open_entities.append(entity)
    return pairs


def entity_problems(sentence: Sentence) -> Iterator[Problem]:
    """Yield a problem if not all entities are annotated, and one for each crossing pair (see `crossings`).

    Args:
        sentence: The sentence to check.

    Complexity: O(m log m) for m entities.

    Examples:
        >>> import io
        >>> from strukt.data.entities import Entity, json_lines
        >>> [sentence] = json_lines.read(io.BytesIO(b'{"tokens": ["a", "b", "c"], "entities": []}'))
        >>> crossing = sentence.annotated(entities=[Entity(0, 2, "person"), Entity(1, 3, "place")])
        >>> [problem.message for problem in entity_problems(crossing)]
        ["the entity 'place' of words 2 to 3 crosses the entity 'person' of words 1 to 2"]
    """
    yield from incompleteness(sentence)
    yield from nesting_problems(sentence)


def partial_entity_problems(sentence: Sentence) -> Iterator[Problem]:
    """Yield the problems that keep a partial annotation from being completed to nested entities.

    There is a problem for each pair that `crossings` returns, and for each malformed forbidden part; if no part is
    malformed, also for each entity that is forbidden.

    Args:
        sentence: The sentence to check.

    Examples:
        >>> import io
        >>> from strukt.data.entities import Entity, json_lines
        >>> from strukt.data.parts import Part
        >>> [sentence] = json_lines.read(io.BytesIO(b'{"tokens": ["Ada"], "entities": []}'))
        >>> sentence = sentence.annotated(entities=[Entity(0, 1, "LOC")]).forbidding([Part("span", (0, 1), "LOC")])
        >>> [problem.message for problem in partial_entity_problems(sentence)]
        ["the entity 'LOC' of words 1 to 1 is annotated and forbidden"]
    """
    yield from nesting_problems(sentence)
    if malformed := [*sentence.forbidden_problems()]:
        yield from malformed
        return
    forbidden = {(*part.place, part.label) for part in sentence.forbidden if part.kind == "span"}
    for entity in sentence.entities:
        if entity in forbidden:
            message = f"{_shown(entity)} is annotated and forbidden"
            yield Problem("forbidden", message, "remove one", sentence.path, sentence.line_of(entity.start))


def nesting_problems(sentence: Sentence) -> Iterator[Problem]:
    """Yield a problem for each pair of crossing entities that `crossings` returns."""
    for first, second in crossings(sentence.entities):
        message = f"{_shown(second)} crosses {_shown(first)}"
        remedy = "let one contain the other, or shorten one"
        yield Problem("crossing", message, remedy, sentence.path, sentence.line_of(second.start))


def require_annotated(sentence: Sentence) -> Sentence:
    """Return the sentence unchanged if its file says which entities it has.

    Raises:
        DataError: If the file does not say so, or says that the sentence may have further entities. The error
            names file and line.

    Examples:
        >>> import io
        >>> from strukt.data.entities import json_lines
        >>> [sentence] = json_lines.read(io.BytesIO(b'{"tokens": ["Ada"], "entities": []}'))
        >>> require_annotated(sentence) is sentence  # it is annotated, with no entity
        True
    """
    for problem in incompleteness(sentence):
        raise problem.error()
    return sentence


def require_nested(sentence: Sentence) -> Sentence:
    """Return the sentence unchanged if all its entities are annotated and no two of them cross.

    Raises:
        DataError: If it is not. The error names file and line.

    Examples:
        >>> import io
        >>> from strukt.data.entities import json_lines
        >>> require_nested(next(json_lines.read(io.BytesIO(b'{"tokens": ["Ada"]}'))))
        Traceback (most recent call last):
        strukt.errors.DataError: <stream>:1: the sentence is not annotated with entities; give a corpus that is
    """
    for problem in entity_problems(sentence):
        raise problem.error()
    return sentence


def check_entities(entities: Iterable[Entity], length: int, forbidden: str = "\t\n\r\0") -> None:
    r"""Check that entities can be written for a sentence of `length` words.

    Args:
        entities: The entities.
        length: Number of words.
        forbidden: Characters that a type must not contain in the format.

    Raises:
        ValueError: If an entity lies outside the sentence, or its type is empty or contains a forbidden character.

    Examples:
        >>> from strukt.data.entities import Entity
        >>> check_entities([Entity(0, 2, "person"), Entity(0, 1, "")], length=2)
        Traceback (most recent call last):
        ValueError: entities: the type '' cannot be written; use a name without any of '\t' '\n' '\r' '\x00'
    """
    for entity in entities:
        if not 0 <= entity.start < entity.end <= length:
            raise ValueError(
                f"entities: {tuple(entity)} does not lie in a sentence of {length} words; "
                f"expected 0 <= start < end <= {length}"
            )
        if not entity.label or any(mark in entity.label for mark in forbidden):
            raise ValueError(
                f"entities: the type {entity.label!r} cannot be written; "
                f"use a name without any of {' '.join(map(repr, forbidden))}"
            )


def incompleteness(sentence: Sentence) -> Iterator[Problem]:
    """Yield a problem if some or all entities of a sentence are not annotated."""
    message = ""
    if not sentence.is_annotated:
        message, remedy = "the sentence is not annotated with entities", "give a corpus that is"
    elif sentence.is_partial:
        message, remedy = "the entities of the sentence are partly annotated", "train on them with --partial"
    if message:
        yield Problem("entities", message, remedy, sentence.path, sentence.line)


def _shown(entity: Entity) -> str:
    """Describe an entity in messages, with words counted from 1."""
    return f"the entity {entity.label!r} of words {entity.start + 1} to {entity.end}"
