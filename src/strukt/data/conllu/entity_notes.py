"""Entities in CoNLL-U, as notes `Entity=(1-person(2-place)1)` in MISC: the format of GUM and CorefUD."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from strukt.data import entities
from strukt.data.conllu import reading
from strukt.data.conllu.mention_brackets import (
    FORBIDDEN,
    NEW_FIELDS,
    NONE,
    Mentions,
    misplaced,
    notes,
    with_note,
)
from strukt.data.conllu.rules import parse
from strukt.data.entities import Entity, check_entities, ordered
from strukt.data.files import Source
from strukt.data.files.blocks import Block, blocks
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.parts import Part
from strukt.data.sentence import Cell

# The pattern can match white space in only one way; otherwise a long comment could take quadratic time.
_DECLARATION = re.compile(r"#\s*global\.Entity\s*=(?:\s*(\S+))?\s*")
_PARTIAL = re.compile(r"#\s*entities\s*=\s*partial\s*")
_HEAD_OF_DOCUMENT = re.compile(r"#\s*(newdoc\b|global\.)")


class Sentence(entities.Sentence):
    r"""A sentence of a CoNLL-U file whose words may open and close mentions.

    Attributes:
        plain: The same sentence as plain CoNLL-U, whose notes are not interpreted.
        fields: The fields of a mention in order, as declared by the most recent comment `# global.Entity = ...`
            of the file; None if there is no such comment.
        is_first: Whether this is the first sentence of its file.
        entities: The mentions in the notes of the words.

    Examples:
        >>> from strukt.data.conllu.entity_notes import read
        >>> from strukt.data.entities import Entity
        >>> import io
        >>> lines = [f"{word}\tw" + "\t_" * 8 for word in (1, 2)]
        >>> [sentence] = read(io.BytesIO("\n".join([*lines, "", ""]).encode()))
        >>> changed = sentence.annotated(entities=[Entity(0, 2, "person"), Entity(1, 2, "place")])
        >>> changed.plain.comments
        ['# global.Entity = eid-etype']
        >>> changed.column("misc")
        ['Entity=(e2dbe01f2.1.1.1-person', 'Entity=(e2dbe01f2.1.2.1-place)e2dbe01f2.1.1.1)']
    """

    __slots__ = ("_entities", "fields", "is_first", "plain")

    def __init__(
        self, plain: reading.Sentence, fields: tuple[str, ...] | None, is_first: bool, entities: list[Entity]
    ) -> None:
        super().__init__(plain.block)
        self.plain = plain
        self.fields = fields
        self.is_first = is_first
        self._entities = entities

    @property
    def forms(self) -> list[str]:
        """The FORM column."""
        return self.plain.forms

    @property
    def entities(self) -> list[Entity]:
        """The mentions marked in the notes of the words."""
        return list(self._entities)

    @property
    def is_annotated(self) -> bool:
        """True if the file declares the fields of mentions; a sentence of such a file may have no mention."""
        return self.fields is not None

    @property
    def is_partial(self) -> bool:
        """True if the sentence has the comment `# entities = partial`."""
        return any(_PARTIAL.fullmatch(text) for text in self.plain.comments)

    @property
    def forbidden(self) -> list[Part]:
        """The parts in comments such as `# forbidden = {"start": 0, "end": 2, "label": "person"}`.

        Raises:
            DataError: If such a comment describes no part of a structure of the sentence.
        """
        return self.plain.forbidden

    @override
    def forbidden_problems(self) -> Iterator[Problem]:
        return self.plain.forbidden_problems()

    @override
    def forbidding(self, parts: Sequence[Part]) -> Sentence:
        return Sentence(self.plain.forbidding(parts), self.fields, self.is_first, self._entities)

    @override
    def as_partial(self) -> Sentence:
        if self.is_partial:
            return self
        marked = self.plain.with_comments(["# entities = partial"])
        return Sentence(marked, self.fields, self.is_first, self._entities)

    @override
    def completed(self, *kinds: str) -> Sentence:
        plain = self.plain.completed(*kinds)
        if "span" in kinds and self.is_partial:
            lines = [text for text in plain.block.lines if not _PARTIAL.fullmatch(text)]
            block = replace(plain.block, lines=lines)
            plain = reading.Sentence(block, parse(block, stop))
        return self if plain is self.plain else Sentence(plain, self.fields, self.is_first, self._entities)

    def line_of(self, position: int) -> int:
        """Return the line number in the file, from 1, of the word at `position`, from 0."""
        return self.plain.words[position].line

    def column(self, name: str) -> list[str]:
        """Return one column of the words as text, as `conllu.Sentence.column` does.

        Raises:
            ValueError: If there is no such column.
        """
        return self.plain.column(name)

    def annotated(self, *, entities: Sequence[Entity] | None = None, **columns: Any) -> Sentence:
        """Return a copy with these mentions, or the present ones if None, and with columns replaced.

        Columns are replaced as by `conllu.Sentence.annotated`.

        Each mention is written with an identifier and its type; other declared fields are `_`. Identifiers are
        unique, since two mentions with the same identifier would be coreferent. An identifier consists of `e`, a
        checksum of the file name, the line of the sentence, the position of the first word in it and a number;
        annotated files with different names can thus be concatenated. If the file declares no fields, its first
        sentence gets the declaration. The notes `Bridge=` and `SplitAnte=` are removed together with the mentions
        to which they refer.

        Raises:
            ValueError: If a mention lies outside the sentence, its type cannot be written in a note (it is empty
                or `_`, or contains a hyphen, round bracket, bar, TAB, line end or NUL), or
                `conllu.Sentence.annotated` raises it.
            DataError: If `conllu.Sentence.annotated` raises it, or a new MISC column has a malformed mention.
        """
        plain = self.plain.annotated(**columns)
        if entities is None:
            return _sentence(plain, self.fields, self.is_first, stop)
        check_entities(entities, len(plain), FORBIDDEN)
        if any(entity.label == NONE for entity in entities):
            raise ValueError("entities: the type '_' cannot be written, because it means no entity in the file")
        fields = self.fields or NEW_FIELDS
        file = zlib.crc32(os.fsencode(plain.path or ""))
        names = [f"e{file:08x}.{plain.line}.{position}" for position in range(1, len(plain) + 1)]
        written = zip(plain.column("misc"), notes(ordered(entities), names, fields), strict=True)
        misc = [with_note(old, note) for old, note in written]
        plain = plain.annotated(misc=misc)
        if self.fields is None and self.is_first:
            plain = _declared(plain, NEW_FIELDS)
        return _sentence(plain, fields, self.is_first, stop)

    def standing_alone(self) -> Sentence:
        """Return a copy that declares the fields of its mentions.

        Return the sentence itself if it declares them already, or its file declares none.
        """
        if self.fields is None or any(_DECLARATION.match(text) for text in self.plain.comments):
            return self
        return _sentence(_declared(self.plain, self.fields), self.fields, self.is_first, stop)

    def with_misc(self, **values: Sequence[Cell]) -> Sentence:
        """Return a copy with notes added to MISC, as `conllu.Sentence.with_misc` does.

        Raises:
            ValueError: If there is not one value for each word, or a value cannot be written to a file.
            DataError: If a note `Entity` has a malformed mention.
        """
        return _sentence(self.plain.with_misc(**values), self.fields, self.is_first, stop)


def read(source: Source, report: Report = stop) -> Iterator[Sentence]:
    r"""Read CoNLL-U with entities lazily and losslessly, as `conllu.read` does.

    The comment `# global.Entity = eid-etype-...` of the first sentence of a document declares the order of the
    fields of a mention; it applies until the next such comment. A sentence without notes has no entities.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, a malformed sentence is left out.

    Raises:
        DataError: If the file cannot be opened. With the default report, also if it cannot be read to its end, is
            empty, is not well-formed, or a mention is malformed: it is not opened or not closed in its sentence,
            has no type or several parts, is on the line of a multiword token or empty node, or its fields are not
            declared.

    Examples:
        >>> import io
        >>> word = "1\tAda" + "\t_" * 7 + "\tEntity=(e1-person)"
        >>> [sentence] = read(io.StringIO(f"# global.Entity = eid-etype\n{word}\n\n"))
        >>> sentence.entities
        [Entity(start=0, end=1, label='person')]
    """
    fields: tuple[str, ...] | None = None
    is_first = True
    for block in blocks(source, report):
        problems = _Counted(report)
        block = reading.block_without_space(block, problems)
        fields = _declaration(block, fields, problems)
        plain = reading.Sentence(block, parse(block, problems))
        if not problems.count:
            sentence = _sentence(plain, fields, is_first, problems)
            if not problems.count:
                yield sentence
        is_first = False


class _Counted:
    """Pass problems on to a report, and count the problems that are not repaired."""

    def __init__(self, report: Report) -> None:
        self.count = 0
        self._report = report

    def __call__(self, problem: Problem) -> None:
        self.count += not problem.repaired
        self._report(problem)


def _declaration(block: Block, before: tuple[str, ...] | None, report: Report) -> tuple[str, ...] | None:
    """Return the fields of mentions that the sentence declares, or, if it declares none, those ``before`` it."""
    fields = before
    for number, text in enumerate(block.lines, block.line):
        if match := _DECLARATION.fullmatch(text):
            declared = match[1] or ""
            fields = tuple(declared.split("-"))
            if "etype" not in fields[1:]:
                message = f"the fields of a mention are {declared!r}, with no etype after the identifier"
                report(Problem("entity", message, "declare them as eid-etype-...", block.path, number))
                fields = NEW_FIELDS  # so that reading can continue
    return fields


def _sentence(
    plain: reading.Sentence, fields: tuple[str, ...] | None, is_first: bool, report: Report
) -> Sentence:
    """Return a sentence with the mentions in its notes; report each malformed or misplaced mention."""
    for problem in misplaced(plain.block):
        report(problem)
    mentions = Mentions(plain, fields, report)
    for position in range(len(plain)):
        mentions.take(position)
    mentions.finish()
    return Sentence(plain, fields, is_first, ordered(mentions.entities))


def _declared(plain: reading.Sentence, fields: Sequence[str]) -> reading.Sentence:
    """Return the sentence with a comment that declares the fields, after comments that begin a document."""
    lines = list(plain.block.lines)
    heads = [index for index, text in enumerate(lines) if _HEAD_OF_DOCUMENT.match(text)]
    lines.insert(heads[-1] + 1 if heads else 0, f"# global.Entity = {'-'.join(fields)}")
    block = replace(plain.block, lines=lines)
    return reading.Sentence(block, parse(block, stop))
