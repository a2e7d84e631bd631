"""Brackets of mentions in the notes of a sentence, such as `(1-person(2-place)1)`: matching and writing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from strukt.data.conllu.reading import Sentence
from strukt.data.entities import Entity
from strukt.data.files.blocks import Block
from strukt.data.files.problems import Problem, Report
from strukt.data.sentence import add_note

NEW_FIELDS = ("eid", "etype")
"""The fields of a mention in a file that declares none: identifier and type."""

FORBIDDEN = "-()|\t\n\r\0"
"""Characters that a type must not contain."""

NONE = "_"
"""The placeholder for a missing type."""

_NOTES = ("Entity=", "Bridge=", "SplitAnte=")  # the last two refer to mentions by their identifiers
# The pattern can match a note in only one way; otherwise matching could take time exponential in its length.
_NOTE = re.compile(r"(?:\([^()]+(?:\)|(?=\()|\Z)|[^()]+\))+")
_MARK = re.compile(r"\((?P<opened>[^()]+)(?P<single>\))?|(?P<closed>[^()]+)\)")
_PART = re.compile(r"\[\d+/\d+\]$")


def is_type(label: str) -> bool:
    """Return True if a type can be written in a note.

    Examples:
        >>> is_type("person"), is_type("work-of-art"), is_type("_")
        (True, False, False)
    """
    return label not in ("", NONE) and not any(mark in label for mark in FORBIDDEN)


class Mentions:
    """The mentions of one sentence, whose brackets are matched word by word.

    Attributes:
        entities: The mentions that are closed, in the order of their ends.
    """

    def __init__(self, plain: Sentence, fields: tuple[str, ...] | None, report: Report) -> None:
        self.entities: list[Entity] = []
        self._plain = plain
        self._fields = fields
        self._report = report
        self._open: list[tuple[str, int, str]] = []  # identifier, position, type

    def take(self, position: int) -> None:
        """Read the note of the word at a position; words must be read in order."""
        note = _note(self._plain.words[position].misc)
        if not note:
            return
        if not _NOTE.fullmatch(note):
            remedy = "write (id-type to open a mention, id) to close it, (id-type) for one word"
            self._problem(f"the note Entity={note} cannot be understood", remedy, position)
            return
        if self._fields is None:
            remedy = "state their order in a comment of the first sentence: # global.Entity = eid-etype-..."
            self._problem("the fields of the mentions are not declared", remedy, position)
            self._fields = NEW_FIELDS  # so that the problem is reported only once per sentence
        for match in _MARK.finditer(note):
            if match["closed"]:
                self._close(match["closed"], position)
            else:
                self._begin(match["opened"].split("-"), position, bool(match["single"]))

    def finish(self) -> None:
        """Report the mentions that are still open."""
        for identifier, position, _ in self._open:
            message = f"the mention {identifier} is not closed in its sentence"
            self._problem(message, f"write {identifier}) at its last word", position)

    def _begin(self, values: list[str], position: int, is_single: bool) -> None:
        """Open a mention with these values of its fields; if it is of a single word, close it, too."""
        identifier = values[0]
        index = (self._fields or NEW_FIELDS).index("etype")
        label = values[index] if index < len(values) else ""
        if _PART.search(identifier):
            remedy = "write one mention from its first word to its last, or leave it out"
            self._problem(f"the mention {identifier} is a part of one with gaps", remedy, position)
            return
        if label in ("", NONE):
            message = f"the mention {identifier} has no type"
            self._problem(message, f"write it as field {index + 1}", position)
        if is_single:
            self.entities.append(Entity(position, position + 1, label))
        else:
            self._open.append((identifier, position, label))

    def _close(self, identifier: str, position: int) -> None:
        """Close the open mention with this identifier that was opened last."""
        if _PART.search(identifier):
            return  # reported already, where it begins
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == identifier:
                _, start, label = self._open.pop(index)
                self.entities.append(Entity(start, position + 1, label))
                return
        message = f"the mention {identifier} is closed but not open"
        self._problem(message, f"write ({identifier}-type at its first word", position)

    def _problem(self, message: str, remedy: str, position: int) -> None:
        line = self._plain.words[position].line
        self._report(Problem("entity", message, remedy, self._plain.path, line))


def misplaced(block: Block) -> Iterator[Problem]:
    """Yield a problem for each line with a mention that is not the line of a word."""
    for number, text in enumerate(block.lines, block.line):
        if not text.startswith("#") and "Entity=" in text:
            row = text.split("\t")
            if not row[0].isdecimal() and _note(row[9]):
                message = f"a mention is on the line with ID {row[0]}, which is not a word"
                yield Problem("entity", message, "write it beside the words", block.path, number)


def with_note(misc: str, value: str) -> str:
    """Return a MISC cell with the note `Entity=value` in place of all notes on mentions.

    If the value is empty, these notes are only removed.
    """
    kept = "|".join(note for note in misc.split("|") if not note.startswith(_NOTES)) or NONE
    return add_note(kept, "Entity", value) if value else kept


def notes(entities: Sequence[Entity], names: Sequence[str], fields: Sequence[str]) -> list[str]:
    """Return the value of each word's note `Entity=`; it is empty if no mention begins or ends at the word.

    Args:
        entities: The mentions, outer ones before inner ones.
        names: A distinct name for each word; the identifier of a mention is the name of its first word and a
            number.
        fields: The declared fields of a mention.
    """
    opened, single, closed = ([""] * len(names) for _ in range(3))
    beginning: Counter[int] = Counter()  # mentions that begin at each word, to number their names
    for start, end, label in entities:
        beginning[start] += 1
        identifier = f"{names[start]}.{beginning[start]}"
        values = {0: identifier, fields.index("etype"): label}
        content = "-".join(values.get(index, "_") for index in range(len(fields)))
        if end - start == 1:
            single[start] += f"({content})"
        else:
            opened[start] += f"({content}"
            closed[end - 1] = f"{identifier}){closed[end - 1]}"
    return [
        # If a word ends one mention and begins another, closing comes first: otherwise notes are ambiguous.
        after + before + alone if before else alone + after
        for before, alone, after in zip(opened, single, closed, strict=True)
    ]


def _note(misc: str) -> str:
    """Return the contents of the notes `Entity=` of a MISC cell."""
    return "".join(note.removeprefix("Entity=") for note in misc.split("|") if note.startswith("Entity="))
