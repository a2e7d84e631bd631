"""Outlines of trees that are too wide for the terminal: a bracket per line, with the words directly in it."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from strukt.viz.canvas.terminal import Grid, Palette
from strukt.viz.canvas.width import display_width
from strukt.viz.canvas.wording import shorten
from strukt.viz.pictures.brackets.picture import Bracket, BracketDiagram, Part

Segment = tuple[str, str]
"""A text and its role in the palette."""


def segments(diagram: BracketDiagram, bracket: Bracket) -> list[Segment]:
    """Return the texts on a bracket: its label, code and probability, if it has them.

    Examples:
        >>> bracket = Bracket("NP", 0, 1, code=10, probability=0.5)
        >>> segments(BracketDiagram(["dogs"], [bracket], bits=8), bracket)
        [('NP', 'label'), ('0a', 'code 0a'), ('.50', 'probability')]
    """
    parts = [(bracket.label, "label")] if bracket.label else []
    if bracket.code is not None:
        parts.append((diagram.hexadecimal(bracket.code), code_role(diagram, bracket.code)))
    if bracket.probability is not None:
        parts.append((shorten(bracket.probability), "probability"))
    return parts


def code_role(diagram: BracketDiagram, code: int) -> str:
    """Return the role of a code in the palette; each code has its own colour."""
    return f"code {diagram.hexadecimal(code)}"


def segments_width(label: list[Segment]) -> int:
    """Return the number of columns of segments with a space between them."""
    return sum(display_width(text) for text, _ in label) + max(len(label) - 1, 0)


def write(grid: Grid, row: int, column: int, label: list[Segment]) -> int:
    """Write segments with a space between them; return the column after the last one."""
    for number, (text, role) in enumerate(label):
        if number:
            grid.write(row, column, " ", "space")
            column += 1
        grid.write(row, column, text, role)
        column += display_width(text)
    return column


class _Entry(NamedTuple):
    """A bracket or, if `label` is None, a run of words that are in `parent`, but in none of its inner brackets."""

    start: int
    place: int  # the index of the bracket; for words, the number of brackets
    parent: int | None
    label: list[Segment] | None
    words: range  # the words after the label


def draw(diagram: BracketDiagram, width: int, palette: Palette) -> str:
    """Draw a bracket per line; words are in the innermost bracket around them.

    Lines connect brackets with the brackets inside them. If there is no space for these lines, each bracket and
    each run of words is preceded by the number of brackets around it.

    Examples:
        >>> brackets = [Bracket("S", 0, 5), Bracket("NP", 0, 2), Bracket("VP", 2, 5), Bracket("NP", 3, 5)]
        >>> diagram = BracketDiagram("The dog chased a cat".split(), brackets, "DT NN VBD DT NN".split())
        >>> print(draw(diagram, 24, {}))
        S
        ├─NP─ The/DT dog/NN
        ╰─VP
          ├─ chased/VBD
          ╰─NP─ a/DT cat/NN
        >>> print(draw(diagram, 13, {}))
        S
        ├NP─ The/DT
        │    dog/NN
        ╰VP
         ├ chased/VBD
         ╰NP─ a/DT
              cat/NN
        >>> print(draw(diagram, 12, {}))
        0 S
        1 NP─ The/DT
              dog/NN
        1 VP
        2  chased/VBD
        2 NP─ a/DT
              cat/NN
    """
    outline = _Outline(diagram)
    step = next((step for step in (2, 1) if outline.needed(step) <= width), 0)
    return outline.grid(step, width).render(palette)


class _Outline:
    """The lines of an outline."""

    def __init__(self, diagram: BracketDiagram) -> None:
        self.diagram = diagram
        self.parents = diagram.parents()
        self.depths: list[int] = []
        for parent in self.parents:
            self.depths.append(0 if parent is None else self.depths[parent] + 1)
        self.entries = self._entries()

    def _entries(self) -> list[_Entry]:
        """Return the entries from top to bottom: by their first word, a bracket before its parts."""
        result = []
        for place, parts in self.diagram.children().items():
            has_inner = place is None or any(part.bracket is not None for part in parts)
            if place is not None:
                bracket = self.diagram.brackets[place]
                words = range(0) if has_inner else range(bracket.start, bracket.end)
                label = segments(self.diagram, bracket)
                result.append(_Entry(bracket.start, place, self.parents[place], label, words))
            if has_inner:
                result += [_Entry(run.start, len(self.parents), place, None, run) for run in _runs(parts)]
        return sorted(result, key=lambda entry: (entry.start, entry.place))

    def depth(self, entry: _Entry) -> int:
        """Return the number of brackets around an entry."""
        return 0 if entry.parent is None else self.depths[entry.parent] + 1

    def needed(self, step: int) -> int:
        """Return the number of columns of the widest line if each line has at most one word."""
        return max((self._needed(entry, step) for entry in self.entries), default=0)

    def _needed(self, entry: _Entry, step: int) -> int:
        widest = max((self._word_width(word) for word in entry.words), default=0)
        return step * self.depth(entry) + self._margin(entry) + widest

    def _margin(self, entry: _Entry) -> int:
        """Return the number of columns before the words, without the indentation."""
        if entry.label is None:
            return int(entry.parent is not None)
        return segments_width(entry.label) + (2 if entry.words else 0)

    def _word_width(self, word: int) -> int:
        return sum(display_width(text) for text, _ in self._word(word))

    def _word(self, word: int) -> list[Segment]:
        tag = [(f"/{self.diagram.tags[word]}", "tag")] if self.diagram.tags else []
        return [(self.diagram.forms[word], "form"), *tag]

    def grid(self, step: int, width: int) -> Grid:
        """Return the lines, indented by `step` for each bracket around them, or numbered if `step` is 0."""
        grid = Grid()
        rows: dict[int, int] = {}  # the row of each bracket so far
        row = 0
        numbers = len(str(max(map(self.depth, self.entries), default=0)))
        for entry in self.entries:
            depth = self.depth(entry)
            column = step * depth if step else numbers + 1
            if not step:
                grid.write(row, 0, str(depth).rjust(numbers), "probability")
            elif entry.parent is not None:
                trunk = column - step
                grid.path([(rows[entry.parent], trunk), (row, trunk), (row, column)])
            rows[entry.place] = row
            row = self._write(grid, row, column, entry, width)
        return grid

    def _write(self, grid: Grid, row: int, column: int, entry: _Entry, width: int) -> int:
        """Write a label and its words from a column on; return the row below them."""
        edge = column + self._margin(entry)
        if entry.label is None:
            grid.write(row, column, " " * (edge - column), "space")
        elif entry.words:
            grid.write(row, edge - 2, "─", "line")
            grid.write(row, edge - 1, " ", "space")
        write(grid, row, column, entry.label or [])
        column = edge
        for word in entry.words:
            if column > edge and column + self._word_width(word) > width:
                row, column = row + 1, edge
            for text, role in self._word(word):
                grid.write(row, column, text, role)
                column += display_width(text)
            column += 1
        return row + 1


def _runs(parts: list[Part]) -> list[range]:
    """Return the words among the parts as ranges of neighbours."""
    groups = groupby(parts, key=lambda part: part.bracket is None)
    runs = [list(group) for is_words, group in groups if is_words]
    return [range(run[0].start, run[-1].end) for run in runs]
