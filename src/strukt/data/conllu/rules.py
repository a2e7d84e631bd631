"""The rules of CoNLL-U: a parser that checks the lines of a sentence and returns the words.

The format is described at https://universaldependencies.org/format.html. These rules make a file
readable; whether the heads form a tree is checked separately, since text to be parsed has no heads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from sys import intern
from typing import NamedTuple

from strukt.data.files.blocks import Block
from strukt.data.files.problems import PLAIN_TEXT, Problem, Report

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

_INTERNED = frozenset(map(COLUMNS.index, ("upos", "xpos", "feats", "deprel")))
"""Indices of the columns whose values repeat often; equal strings are stored once."""

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")


class Word(NamedTuple):
    """A word of a sentence: the ten columns of CoNLL-U, and the line number in the file.

    `id` and `line` are counted from 1. `head` is 0 for the root, and None if the column is `_`. All other columns
    (`form`, `lemma`, `upos`, `xpos`, `feats`, `deprel`, `deps`, `misc`) are as in the file.

    Examples:
        >>> from strukt.data import conllu
        >>> [word] = conllu.from_forms(["Stop"]).annotated(upos=["VERB"], head=[0]).words
        >>> word.id, word.form, word.upos, word.head, word.deprel
        (1, 'Stop', 'VERB', 0, '_')
    """

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int | None
    deprel: str
    deps: str
    misc: str
    line: int


def parse(block: Block, report: Report) -> list[Word]:
    """Return the words among the lines of a sentence; problems with the lines go to `report`.

    Complexity: linear in the text.
    """
    parser = _Parser(block, report)
    for number, text in enumerate(block.lines, block.line):
        parser.take(text, number)
    parser.finish()
    return parser.words


def with_columns(words: Sequence[Word], texts: Mapping[int, Sequence[str]]) -> list[Word] | None:
    """Return words with other cells, as `parse` would read them; None if a head would be invalid.

    Args:
        words: The words of a sentence.
        texts: For each column number, one cell per word.
    """
    if not words:
        return []
    columns: list[Sequence[object]] = list(zip(*words, strict=True))
    for index, cells in texts.items():
        columns[index] = list(map(intern, cells)) if index in _INTERNED else cells
    if 6 in texts:
        if not all(cell == "_" or (_NUMBER.fullmatch(cell) and int(cell) <= len(words)) for cell in texts[6]):
            return None
        columns[6] = [None if cell == "_" else int(cell) for cell in texts[6]]
    return [Word(*row) for row in zip(*columns, strict=True)]


def comment(key: str) -> re.Pattern[str]:
    """Return the pattern of the comment `# key = value`, whose group is the value, with the space around it."""
    return re.compile(rf"#\s*{re.escape(key)}\s*=(.*)")


def with_comment(lines: Sequence[str], key: str, value: object) -> list[str]:
    """Return the lines of a sentence with the comment `# key = value`, in place of all comments with this key.

    If there are none, it comes after all other comments.
    """
    old = [index for index, line in enumerate(lines) if comment(key).fullmatch(line)]
    place = old[0] if old else sum(line.startswith("#") for line in lines)
    kept = [line for index, line in enumerate(lines) if index >= place and index not in old]
    return [*lines[:place], f"# {key} = {value}", *kept]


class _Parser:
    """Check the lines of one sentence, and collect its words.

    `take` reads each line; after the last line, `finish` checks the sentence as a whole.
    """

    def __init__(self, block: Block, report: Report) -> None:
        self.words: list[Word] = []
        self._block = block
        self._report = report
        self._rows = 0
        self._range = (0, 0, 0)  # the last multiword token: first word, last word, line
        self._empty_nodes = 0  # the number of empty nodes since the last word

    def take(self, text: str, number: int) -> None:
        if text.startswith("#"):
            if self._rows:
                self._problem("comment", "a comment follows the words", "move it before word 1", number)
            return
        self._rows += 1
        row = text.split("\t")
        if len(row) != 10:
            self._column_count(row, number)
            return
        if "" in row:
            name = COLUMNS[row.index("")].upper()
            self._problem("empty-column", f"the column {name} is empty", "write _ for no value", number)
            return
        if row[0].isdecimal():
            self._word(row, number)
        elif "-" in row[0]:
            self._multiword_token(row[0], number)
        elif "." in row[0]:
            self._empty_node(row[0], number)
        else:
            self._problem("id", f"the ID is {row[0]!r}", "write 1, 2, ...; 1-2; or 1.1", number)

    def finish(self) -> None:
        if not self._rows:
            message = "the sentence has comments but no words"
            self._problem("no-words", message, "delete the blank line after them", self._block.line)
        first, last, line = self._range
        if last > len(self.words):
            message = f"the multiword token {first}-{last} ends after the last word, {len(self.words)}"
            self._problem("multiword-token", message, "correct its ID", line)
        for word in self.words:
            if word.head is not None and word.head > len(self.words):
                message = f"HEAD is {word.head} in a sentence of {len(self.words)} words"
                self._problem("head", message, f"use 0 to {len(self.words)}, or _", word.line)

    def _column_count(self, row: list[str], number: int) -> None:
        """Report that a line does not have ten columns, with a remedy that fits its contents."""
        remedy = "separate the columns by one TAB each"
        if len(row) == 1:
            cells = row[0].split()
            if not cells[0][0].isdecimal():
                remedy = PLAIN_TEXT
            elif len(cells) >= 10:
                remedy = "put one TAB, not spaces, between the columns"
        self._problem("column-count", f"expected 10 columns, found {len(row)}", remedy, number)

    def _word(self, row: list[str], number: int) -> None:
        """Check the ten columns of a word, and add the word."""
        expected = len(self.words) + 1
        if row[0] != str(expected):
            self._problem(
                "id", f"the ID is {row[0]}, expected {expected}", "number the words 1, 2, ...", number
            )
        if row[6] != "_" and not _NUMBER.fullmatch(row[6]):
            self._problem("head", f"HEAD is {row[6]!r}", "use the ID of a word, 0 for the root, or _", number)
            row[6] = "_"
        self._empty_nodes = 0
        self.words.append(
            Word(
                expected,
                row[1],
                row[2],
                intern(row[3]),
                intern(row[4]),
                intern(row[5]),
                None if row[6] == "_" else int(row[6]),
                intern(row[7]),
                row[8],
                row[9],
                number,
            )
        )

    def _multiword_token(self, identifier: str, number: int) -> None:
        """Check the ID of a multiword token, such as 1-2."""
        match = _RANGE.fullmatch(identifier)
        first, last = (int(match[1]), int(match[2])) if match else (0, 0)
        if first >= last:
            self._problem("multiword-token", f"the ID is {identifier!r}", "write first-last, as 1-2", number)
            return
        if first != len(self.words) + 1 or first <= self._range[1]:
            fault = "is not directly before its first word, or overlaps another"
            message = f"the multiword token {identifier} {fault}"
            self._problem("multiword-token", message, "move or renumber it", number)
        self._range = (first, last, number)

    def _empty_node(self, identifier: str, number: int) -> None:
        """Check the ID of an empty node, such as 8.1."""
        self._empty_nodes += 1
        expected = f"{len(self.words)}.{self._empty_nodes}"
        if identifier != expected:
            known = "the ID is" if _EMPTY_NODE.fullmatch(identifier) else "no empty node has the ID"
            self._problem("empty-node", f"{known} {identifier!r}", f"expected {expected}", number)

    def _problem(self, rule: str, message: str, remedy: str, line: int) -> None:
        self._report(Problem(rule, message, remedy, self._block.path, line))
