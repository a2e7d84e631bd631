"""Named entities, one inside another or side by side: what every format of them gives, and what nesting is."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from strukt.data import sentence
from strukt.data.problems import Problem


class Entity(NamedTuple):
    """A mention of something, as a stretch of words with a type.

    Attributes:
        start: Position of its first word, counted from 0.
        end: Position after its last word.
        label: Its type.
    """

    start: int
    end: int
    label: str


class Sentence(sentence.Sentence):
    """A sentence with entities; its formats are `conllu_entities`, `layers` and `json_lines`."""

    __slots__ = ()

    @property
    @abstractmethod
    def entities(self) -> list[Entity]:
        """The entities by their first word, longer ones before shorter ones; none twice."""

    @property
    @abstractmethod
    def is_annotated(self) -> bool:
        """Whether the file says which entities there are; otherwise it is text to be annotated."""

    @abstractmethod
    def line_of(self, position: int) -> int:
        """The line of a word in the file; words are counted from 0."""

    @abstractmethod
    def annotated(self, *, entities: Sequence[Entity] | None = None, **columns: Any) -> Sentence:
        """A copy with these entities instead of its own, and nothing else changed.

        Raises:
            ValueError: An entity lies outside the sentence, or its type cannot stand in the format.
        """


def ordered(entities: Iterable[Entity]) -> list[Entity]:
    """The entities without repetitions, by their first word, longer ones before shorter ones.

    Examples:
        >>> ordered([Entity(1, 2, "place"), Entity(0, 1, "time"), Entity(0, 2, "event")])[0]
        Entity(start=0, end=2, label='event')
    """
    return sorted(set(entities), key=lambda entity: (entity.start, -entity.end, entity.label))


def depths(entities: Sequence[Entity]) -> list[int]:
    """How many of the others contain each entity: 0 for the outermost ones.

    An entity contains those with a shorter span inside its own; of two with the same span none contains the
    other.

    Complexity: sorting m entities.

    Examples:
        >>> depths([Entity(0, 3, "person"), Entity(2, 3, "place"), Entity(4, 5, "time")])
        [0, 1, 0]
    """

    def span(index: int) -> tuple[int, int]:
        return entities[index].start, -entities[index].end

    result = [0] * len(entities)
    ends: list[int] = []  # of the spans that begin here or earlier, in ascending order
    for (_, negative_end), members in groupby(sorted(range(len(entities)), key=span), key=span):
        same = list(members)
        depth = len(ends) - bisect_left(ends, -negative_end)
        for index in same:
            result[index] = depth
            insort(ends, -negative_end)
    return result


def crossings(entities: Iterable[Entity]) -> list[tuple[Entity, Entity]]:
    """The entities that cross one before them, each after one that it crosses; without them all is nested.

    Two entities cross where they share words and each has words of its own.

    Complexity: sorting the entities.

    Examples:
        >>> crossings([Entity(0, 2, "person"), Entity(1, 3, "place"), Entity(1, 2, "time")])
        [(Entity(start=0, end=2, label='person'), Entity(start=1, end=3, label='place'))]
    """
    found: list[tuple[Entity, Entity]] = []
    open_entities: list[Entity] = []  # each inside the one before it
    for entity in ordered(entities):
        while open_entities and open_entities[-1].end <= entity.start:
            open_entities.pop()
        if open_entities and open_entities[-1].end < entity.end:
            found.append((open_entities[-1], entity))
        else:
            open_entities.append(entity)
    return found


def entity_problems(sentence: Sentence) -> Iterator[Problem]:
    """Everything that keeps a sentence from being an example of nested entities."""
    if not sentence.is_annotated:
        yield _unannotated(sentence)
    for first, second in crossings(sentence.entities):
        message = f"{_shown(second)} crosses {_shown(first)}"
        remedy = "let one contain the other, or shorten one"
        yield Problem("crossing", message, remedy, sentence.path, sentence.line_of(second.start))


def require_annotated(sentence: Sentence) -> Sentence:
    """Gives the sentence back if its file says which entities there are.

    Raises:
        DataError: It does not; with file and line.
    """
    if not sentence.is_annotated:
        raise _unannotated(sentence).error()
    return sentence


def require_nested(sentence: Sentence) -> Sentence:
    """Gives the sentence back if it is annotated and no two of its entities cross.

    Raises:
        DataError: It is not; with file and line.
    """
    for problem in entity_problems(sentence):
        raise problem.error()
    return sentence


def check_entities(entities: Iterable[Entity], length: int, forbidden: str = "\t\n\r\0") -> None:
    """Whether entities can be written beside so many words.

    Args:
        entities: What is to be written.
        length: Number of words.
        forbidden: The characters that a type must not hold in the format.

    Raises:
        ValueError: An entity lies outside the sentence, or its type is empty or holds such a character.
    """
    for entity in entities:
        if not 0 <= entity.start < entity.end <= length:
            raise ValueError(
                f"entities: {tuple(entity)} does not lie in a sentence of {length} words; "
                f"start and end are 0 <= start < end <= {length}"
            )
        if not entity.label or any(mark in entity.label for mark in forbidden):
            raise ValueError(
                f"entities: the type {entity.label!r} cannot stand in the file; "
                f"use a name without any of {' '.join(map(repr, forbidden))}"
            )


def _unannotated(sentence: Sentence) -> Problem:
    message, remedy = "the sentence is not annotated with entities", "give a corpus that is"
    return Problem("entities", message, remedy, sentence.path, sentence.line)


def _shown(entity: Entity) -> str:
    """An entity in messages, with its words counted from 1."""
    return f"the entity {entity.label!r} of words {entity.start + 1} to {entity.end}"
