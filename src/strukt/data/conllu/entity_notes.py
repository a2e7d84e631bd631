"""Entities in CoNLL-U, as notes `Entity=(1-person(2-place)1)` in MISC: the format of GUM and CorefUD."""

from __future__ import annotations

import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from strukt.data import entities
from strukt.data.conllu import sentences
from strukt.data.conllu.rules import parse
from strukt.data.entities import Entity, check_entities, ordered
from strukt.data.files import Source
from strukt.data.files.blocks import Block, blocks
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.sentence import Cell, add_note

NEW_FIELDS = ("eid", "etype")
"""The fields of a mention in a file that declares none: identifier and type."""

FORBIDDEN = "-()|\t\n\r\0"
"""Characters that a type must not contain."""

_NONE = "_"
_NOTES = ("Entity=", "Bridge=", "SplitAnte=")  # the last two refer to mentions by their identifiers
_DECLARATION = re.compile(r"#\s*global\.Entity\s*=\s*(\S*)\s*")
_HEAD_OF_DOCUMENT = re.compile(r"#\s*(newdoc\b|global\.)")
# Each note can be split in only one way: otherwise the number of ways would grow exponentially with its length.
_NOTE = re.compile(r"(?:\([^()]+(?:\)|(?=\()|\Z)|[^()]+\))+")
_MARK = re.compile(r"\((?P<opened>[^()]+)(?P<single>\))?|(?P<closed>[^()]+)\)")
_PART = re.compile(r"\[\d+/\d+\]$")


class Sentence(entities.Sentence):
    r"""A sentence of a CoNLL-U file whose words may open and close mentions.

    Attributes:
        plain: The same sentence as plain CoNLL-U, entities ignored.
        fields: The fields of a mention in order, as declared by the most recent comment `# global.Entity = ...`
            of the file; None if there is no such comment.
        is_first: Whether this is the first sentence of its file.

    Examples:
        >>> import io
        >>> lines = [f"{word}\tw" + "\t_" * 8 for word in (1, 2)]
        >>> [sentence] = read(io.BytesIO("\n".join([*lines, "", ""]).encode()))
        >>> changed = sentence.annotated(entities=[Entity(0, 2, "person"), Entity(1, 2, "place")])
        >>> changed.plain.comments
        ['# global.Entity = eid-etype']
        >>> changed.column("misc")
        ['Entity=(e2dbe01f2.1.1-person', 'Entity=(e2dbe01f2.2.1-place)e2dbe01f2.1.1)']
    """

    __slots__ = ("_entities", "fields", "is_first", "plain")

    def __init__(
        self, plain: sentences.Sentence, fields: tuple[str, ...] | None, is_first: bool, found: list[Entity]
    ) -> None:
        super().__init__(plain.block)
        self.plain = plain
        self.fields = fields
        self.is_first = is_first
        self._entities = found

    @property
    def forms(self) -> list[str]:
        """The FORM column."""
        return self.plain.forms

    @property
    def entities(self) -> list[Entity]:
        """The mentions marked by the notes of the words."""
        return list(self._entities)

    @property
    def is_annotated(self) -> bool:
        """True if the file declares mentions; a sentence of such a file may have none."""
        return self.fields is not None

    def line_of(self, position: int) -> int:
        """Return the line number of a word."""
        return self.plain.words[position].line

    def column(self, name: str) -> list[str]:
        """Return one column of the words as text, as `conllu.Sentence.column` does.

        Raises:
            ValueError: If there is no such column.
        """
        return self.plain.column(name)

    def annotated(self, *, entities: Sequence[Entity] | None = None, **columns: Any) -> Sentence:
        """Return a copy with these mentions, and with columns replaced as by `conllu.Sentence.annotated`.

        Each mention is written with an identifier and its type; other declared fields are `_`. The identifier
        differs from all in other sentences, since sharing one would make two mentions coreferent: it is `e`, a
        checksum of the file name, the line of the first word and a number, so that annotated files with different
        names can be concatenated. The first sentence of a file that declares no fields gets the
        declaration. The notes `Bridge=` and `SplitAnte=` are removed together with the mentions they refer to.

        Raises:
            ValueError: If a mention lies outside the sentence, its type cannot be written in a note (it is `_` or
                contains a hyphen, bracket, bar, TAB or line end), or as for `conllu.Sentence.annotated`.
        """
        plain = self.plain.annotated(**columns)
        if entities is None:
            return _sentence(plain, self.fields, self.is_first, stop)
        check_entities(entities, len(plain), FORBIDDEN)
        if any(entity.label == _NONE for entity in entities):
            raise ValueError("entities: the type '_' cannot stand in the file, where it means none")
        fields = self.fields or NEW_FIELDS
        file = zlib.crc32(os.fsencode(plain.path or ""))
        names = [f"e{file:08x}.{word.line}" for word in plain.words]
        notes = _notes(ordered(entities), names, fields)
        misc = [_with_note(old, note) for old, note in zip(plain.column("misc"), notes, strict=True)]
        plain = plain.annotated(misc=misc)
        if self.fields is None and self.is_first:
            plain = _declared(plain, NEW_FIELDS)
        return _sentence(plain, fields, self.is_first, stop)

    def standing_alone(self) -> Sentence:
        """Return a copy that declares the fields of its mentions; unchanged if it does so."""
        if self.fields is None or any(_DECLARATION.match(text) for text in self.plain.comments):
            return self
        return _sentence(_declared(self.plain, self.fields), self.fields, self.is_first, stop)

    def with_misc(self, **values: Sequence[Cell]) -> Sentence:
        """Return a copy with notes added to MISC, as `conllu.Sentence.with_misc` does.

        Raises:
            ValueError: As for `conllu.Sentence.with_misc`.
        """
        return _sentence(self.plain.with_misc(**values), self.fields, self.is_first, stop)


def is_type(label: str) -> bool:
    """Return whether a type can be written in a note.

    Examples:
        >>> is_type("person"), is_type("work-of-art"), is_type("_")
        (True, False, False)
    """
    return label not in ("", _NONE) and not any(mark in label for mark in FORBIDDEN)


def read(source: Source, report: Report = stop) -> Iterator[Sentence]:
    """Read CoNLL-U with entities lazily and losslessly, as `conllu.read` does.

    The comment `# global.Entity = eid-etype-...` of the first sentence of a document declares the order of the
    fields of a mention; it applies until the next such comment. A sentence without notes has no entities.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, the sentence is left out.

    Raises:
        DataError: If the file cannot be read, is not well-formed, or a mention is malformed: it is not
            opened or not closed in its sentence, has no type or several parts, stands on the line of a
            multiword token or empty node, or its fields are not declared.
    """
    fields: tuple[str, ...] | None = None
    is_first = True
    for block in blocks(source, report):
        problems = _Counted(report)
        block = sentences.block_without_space(block, problems)
        fields = _declaration(block, fields, problems)
        plain = sentences.Sentence(block, parse(block, problems))
        if not problems.count:
            sentence = _sentence(plain, fields, is_first, problems)
            if not problems.count:
                yield sentence
        is_first = False


class _Counted:
    """Pass problems on and count those that are not repaired."""

    def __init__(self, report: Report) -> None:
        self.count = 0
        self._report = report

    def __call__(self, problem: Problem) -> None:
        self.count += not problem.repaired
        self._report(problem)


def _declaration(block: Block, before: tuple[str, ...] | None, report: Report) -> tuple[str, ...] | None:
    """Return the fields of a mention from this sentence on."""
    fields = before
    for number, text in enumerate(block.lines, block.line):
        if match := _DECLARATION.fullmatch(text):
            fields = tuple(match[1].split("-"))
            if "etype" not in fields[1:]:
                message = f"the fields of a mention are {match[1]!r}, with no etype after the identifier"
                report(Problem("entity", message, "declare them as eid-etype-...", block.path, number))
                fields = NEW_FIELDS  # to be able to read on
    return fields


def _sentence(
    plain: sentences.Sentence, fields: tuple[str, ...] | None, is_first: bool, report: Report
) -> Sentence:
    for problem in _misplaced(plain.block):
        report(problem)
    mentions = _Mentions(plain, fields, report)
    for position in range(len(plain)):
        mentions.take(position)
    mentions.finish()
    return Sentence(plain, fields, is_first, ordered(mentions.found))


class _Mentions:
    """Match the opening and closing brackets of mentions over the words of one sentence."""

    def __init__(self, plain: sentences.Sentence, fields: tuple[str, ...] | None, report: Report) -> None:
        self.found: list[Entity] = []
        self._plain = plain
        self._fields = fields
        self._report = report
        self._open: list[tuple[str, int, str]] = []  # identifier, position, type

    def take(self, position: int) -> None:
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
        for identifier, position, _ in self._open:
            message = f"the mention {identifier} is not closed in its sentence"
            self._problem(message, f"write {identifier}) at its last word", position)

    def _begin(self, values: list[str], position: int, is_single: bool) -> None:
        identifier = values[0]
        index = (self._fields or NEW_FIELDS).index("etype")
        label = values[index] if index < len(values) else ""
        if _PART.search(identifier):
            remedy = "write one mention from its first word to its last, or leave it out"
            self._problem(f"the mention {identifier} is a part of one with gaps", remedy, position)
            return
        if label in ("", _NONE):
            message = f"the mention {identifier} has no type"
            self._problem(message, f"write it as field {index + 1}", position)
        if is_single:
            self.found.append(Entity(position, position + 1, label))
        else:
            self._open.append((identifier, position, label))

    def _close(self, identifier: str, position: int) -> None:
        if _PART.search(identifier):
            return  # reported already, where it begins
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == identifier:
                _, start, label = self._open.pop(index)
                self.found.append(Entity(start, position + 1, label))
                return
        message = f"the mention {identifier} is closed but not open"
        self._problem(message, f"write ({identifier}-type at its first word", position)

    def _problem(self, message: str, remedy: str, position: int) -> None:
        line = self._plain.words[position].line
        self._report(Problem("entity", message, remedy, self._plain.path, line))


def _misplaced(block: Block) -> Iterator[Problem]:
    """Find mentions on lines that are not words."""
    for number, text in enumerate(block.lines, block.line):
        if not text.startswith("#") and "Entity=" in text:
            row = text.split("\t")
            if not row[0].isdecimal() and _note(row[9]):
                message = f"a mention stands on the line {row[0]}, which is no word"
                yield Problem("entity", message, "write it beside the words", block.path, number)


def _note(misc: str) -> str:
    """Return the contents of the notes `Entity=` of a MISC cell."""
    return "".join(note.removeprefix("Entity=") for note in misc.split("|") if note.startswith("Entity="))


def _with_note(misc: str, value: str) -> str:
    """Return a MISC cell without its notes on mentions, and with this one added if it is not empty."""
    kept = "|".join(note for note in misc.split("|") if not note.startswith(_NOTES)) or _NONE
    return add_note(kept, "Entity", value) if value else kept


def _notes(found: Sequence[Entity], names: Sequence[str], fields: Sequence[str]) -> list[str]:
    """Return the note of each word. Names must differ; outer mentions open first and close last."""
    opened, single, closed = ([""] * len(names) for _ in range(3))
    beginning: Counter[int] = Counter()  # mentions that begin at each word, to number their names
    for start, end, label in found:
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
        # A mention would close after another opens only if they cross, and then the two could not be told apart.
        after + before + alone if before else alone + after
        for before, alone, after in zip(opened, single, closed, strict=True)
    ]


def _declared(plain: sentences.Sentence, fields: Sequence[str]) -> sentences.Sentence:
    """Return the sentence with a comment that declares the fields, after those that begin a document."""
    lines = list(plain.block.lines)
    heads = [index for index, text in enumerate(lines) if _HEAD_OF_DOCUMENT.match(text)]
    lines.insert(heads[-1] + 1 if heads else 0, f"# global.Entity = {'-'.join(fields)}")
    block = Block(lines, plain.block.end, plain.path, plain.line)
    return sentences.Sentence(block, parse(block, stop))
