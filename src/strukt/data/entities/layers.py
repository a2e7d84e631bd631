"""BIO labels in layers, as for nested entities: a word, then one or more columns of labels, separated by TABs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from strukt.data.entities import mentions
from strukt.data.entities.mentions import Entity, check_entities, ordered
from strukt.data.files import Source
from strukt.data.files.blocks import Block, blocks
from strukt.data.files.problems import CONVERT, PLAIN_TEXT, Problem, Report, empty_column, stop
from strukt.data.sentence import Cell
from strukt.data.tag_schemes import OUTSIDE, SCHEMES
from strukt.data.tag_schemes.spans import spans


class Sentence(mentions.Sentence):
    r"""A sentence of a file with layers of BIO labels; a two-column file has one layer.

    Every line has a word and as many labels as the other lines of its sentence, or, in text to be annotated,
    the word alone. The last column may be empty. Layers need not be ordered: an entity may be in any of them.

    Args:
        block: The lines of the file.
        rows: The columns of each line, without an empty last one.
        ending: A TAB if every line has an empty last column, otherwise an empty string.
        entities: The entities of all layers.

    Examples:
        >>> from strukt.data.entities import Entity
        >>> from strukt.data.entities.layers import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"the\tB-PER\tO\nQueen\tI-PER\tB-PER\n\n"))
        >>> [tuple(entity) for entity in sentence.entities]
        [(0, 2, 'PER'), (1, 2, 'PER')]
        >>> str(sentence.annotated(entities=[Entity(1, 2, "LOC")]))
        'the\tO\tO\nQueen\tB-LOC\tO\n\n'
    """

    __slots__ = ("_ending", "_entities", "_rows")

    def __init__(self, block: Block, rows: list[list[str]], ending: str, entities: list[Entity]) -> None:
        super().__init__(block)
        self._rows = rows
        self._ending = ending
        self._entities = entities

    @property
    def forms(self) -> list[str]:
        """The words: the first column."""
        return [row[0] for row in self._rows]

    @property
    def entities(self) -> list[Entity]:
        """The entities of all layers."""
        return list(self._entities)

    @property
    def is_annotated(self) -> bool:
        """True if there is a column of labels."""
        return len(self._rows[0]) > 1

    def line_of(self, position: int) -> int:
        """Return the line number in the file, from 1, of the word at `position`, from 0."""
        return self.line + position

    def column(self, name: str) -> list[str]:
        """Return the words; the only `name` of a column is "form", as layers have no names.

        Raises:
            ValueError: If another name was given.
        """
        if name != "form":
            raise ValueError(f"the layers have no column {name!r}; choose form, or take the entities")
        return self.forms

    def annotated(self, *, entities: Sequence[Entity] | None = None, **columns: Any) -> Sentence:
        """Return a copy with these entities in its layers, the outermost ones first; None keeps the present ones.

        There are as many layers as the entities need, but not fewer than before. An empty last column stays.

        Raises:
            ValueError: If an entity lies outside the sentence, its type cannot be written to a file, or a column
                is named: layers have no names.
        """
        if columns:
            raise ValueError(f"the layers have no column {min(columns)!r}; give entities")
        if entities is None:
            return self
        check_entities(entities, len(self._rows))
        labels = _labels(entities, len(self._rows), max(1, len(self._rows[0]) - 1))
        rows = [[row[0], *cells] for row, cells in zip(self._rows, zip(*labels, strict=True), strict=True)]
        lines = ["\t".join(row) + self._ending for row in rows]
        block = replace(self.block, lines=lines)
        return Sentence(block, rows, self._ending, ordered(entities))

    def with_misc(self, **values: Sequence[Cell]) -> Sentence:
        """Raise a ValueError: this format has no place for notes.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"{', '.join(values)}: layers of labels have no place for notes; write JSON lines")


def read(source: Source, report: Report = stop) -> Iterator[Sentence]:
    r"""Read layered BIO labels lazily and losslessly; two columns are one layer, one column is text.

    There are no comments: `#` is an ordinary word.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, a malformed sentence is left out.

    Raises:
        DataError: If the file cannot be opened. With the default report, also if it cannot be read to its end, is
            empty or is not well-formed. The error names file and line.

    Examples:
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"the\tB-PER\tO\nQueen\tI-PER\tB-PER\n\n"))
        >>> sentence.entities
        [Entity(start=0, end=2, label='PER'), Entity(start=1, end=2, label='PER')]
    """
    for block in blocks(source, report):
        rows, ending = _columns(block)
        faults = list(_row_problems(block, rows)) or list(_label_problems(block, rows))
        for problem in faults:
            report(problem)
        if not faults:
            yield Sentence(block, rows, ending, _entities(rows))


def _columns(block: Block) -> tuple[list[list[str]], str]:
    """Return the columns of each line, and a TAB if every line ends with one after its labels."""
    rows = [text.split("\t") for text in block.lines]
    if all(len(row) > 2 and not row[-1] for row in rows):
        return [row[:-1] for row in rows], "\t"
    return rows, ""


def _row_problems(block: Block, rows: list[list[str]]) -> Iterator[Problem]:
    """Yield a problem for each line with an empty column, or not as many columns as the first line."""
    for number, row in enumerate(rows, block.line):
        if message := empty_column(row):
            remedy = "write the word, a TAB, and its label, O for none"
            yield Problem("empty-column", message, remedy, block.path, number)
        elif len(row) == 1 and " " in row[0]:
            remedy = f"put one TAB between the word and each label, or {CONVERT}; {PLAIN_TEXT}"
            yield Problem("column-count", "the line has spaces but no TAB", remedy, block.path, number)
        elif len(row) != len(rows[0]):
            message = f"expected {len(rows[0])} columns as in the lines before, found {len(row)}"
            remedy = "give every word of a sentence as many labels, O for none"
            yield Problem("column-count", message, remedy, block.path, number)


def _label_problems(block: Block, rows: list[list[str]]) -> Iterator[Problem]:
    """Yield a problem for each label that is malformed or cannot follow the label before it."""
    for layer in range(1, len(rows[0])):
        before = "O"
        for number, row in enumerate(rows, block.line):
            if fault := _fault(row[layer], before):
                message, remedy = fault
                place = f" in column {layer + 1}" if len(row) > 2 else ""
                yield Problem("label", message + place, remedy, block.path, number)
            before = row[layer]


def _fault(label: str, before: str) -> tuple[str, str] | None:
    """Return the fault of a label after the previous label of its layer, and the remedy; None if it is valid."""
    mark, kind = label[:2], label[2:]
    if mark == "I-" and kind and before not in (label, f"B-{kind}"):
        return f"{label} follows {before}", f"begin the entity with B-{kind}, or {CONVERT}"
    if label == "O" or (mark in ("B-", "I-") and kind):
        return None
    remedy = f"write O, B-type for the first word of an entity, I-type for the next, or {CONVERT}"
    return f"the label is {label!r}", remedy


def _entities(rows: list[list[str]]) -> list[Entity]:
    """Return the entities of all layers, which must be well-formed."""
    _, *layers = zip(*rows, strict=True)
    return ordered(Entity(first, last + 1, label) for labels in layers for label, first, last in spans(labels))


def _labels(entities: Sequence[Entity], length: int, least: int) -> list[list[str]]:
    """Return the labels of each layer, at least `least` layers; each entity goes into the first free layer."""
    layers = [[OUTSIDE] * length for _ in range(least)]
    ends = [0] * least  # end of the last entity in each layer
    for start, end, label in ordered(entities):
        layer = next((layer for layer, last in enumerate(ends) if last <= start), len(ends))
        if layer == len(ends):
            layers.append([OUTSIDE] * length)
            ends.append(0)
        ends[layer] = end
        layers[layer][start:end] = SCHEMES["BIO"].span(label, end - start)
    return layers
