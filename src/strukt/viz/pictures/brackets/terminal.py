"""Constituents and entities in the terminal: labels above the words, with lines to their parts.

Trees that are too wide have one bracket per line: see `outline`.
"""

from __future__ import annotations

from strukt.viz.canvas.colour import terminal_code
from strukt.viz.canvas.terminal import Grid, Palette
from strukt.viz.canvas.width import display_width
from strukt.viz.pictures.brackets import outline
from strukt.viz.pictures.brackets.outline import Segment, segments, segments_width
from strukt.viz.pictures.brackets.picture import BracketDiagram
from strukt.viz.pictures.brackets.spans import Spans

_GAP = 2
_ROWS = 2  # a level has its label, and the lines below it


def terminal(diagram: BracketDiagram, width: int, palette: Palette) -> str:
    """Draw brackets above the words, or an outline with one bracket per line if that is too wide.

    Examples:
        >>> from strukt.viz import Bracket
        >>> forms, tags = "The dog chased a cat".split(), "DT NN VBD DT NN".split()
        >>> brackets = [Bracket("S", 0, 5), Bracket("NP", 0, 2), Bracket("VP", 2, 5), Bracket("NP", 3, 5)]
        >>> print(terminal(BracketDiagram(forms, brackets, tags), 80, {}))
                    S
           ╭────────┴────╮
           │             VP
           │        ╭────┴───╮
           NP       │        NP
         ╭─┴──╮     │     ╭──┴─╮
         DT   NN   VBD    DT   NN
        The  dog  chased  a   cat
    """
    palette = _with_codes(palette, diagram)
    layout = _Layout(diagram)
    if layout.spans.width > width:
        return outline.draw(diagram, width, palette)
    return layout.grid().render(palette)


def _with_codes(palette: Palette, diagram: BracketDiagram) -> Palette:
    """Add the colours of codes to a palette, unless it has no colours at all."""
    if not palette:
        return palette
    colours = diagram.colours().items()
    return {
        **palette,
        **{outline.code_role(diagram, code): terminal_code(colour) for code, colour in colours},
    }


class _Layout:
    """The positions of all parts."""

    def __init__(self, diagram: BracketDiagram) -> None:
        self.diagram = diagram
        self.rows = [(diagram.tags, "tag")] if diagram.tags else []
        self.rows.append((diagram.forms, "form"))
        self.labels = [segments(diagram, bracket) for bracket in diagram.brackets]
        self.levels = diagram.levels()
        self.top = _ROWS * max(self.levels, default=0)  # the row of tags, or of words
        words = [
            max(display_width(texts[word]) for texts, _ in self.rows) for word in range(len(diagram.forms))
        ]
        self.spans = Spans(words, diagram.brackets, [segments_width(label) for label in self.labels], _GAP)

    def grid(self) -> Grid:
        """Draw lines, labels, tags and words."""
        grid = Grid()
        children = self.diagram.children()
        for place, bracket in enumerate(self.diagram.brackets):
            row, centre = self._row(place), self._centre(bracket.start, bracket.end)
            for part in children[place]:
                column = self._centre(part.start, part.end)
                bend = [(row + 1, column)] if column != centre else []
                grid.path([(row, centre), (row + 1, centre), *bend, (self._row(part.bracket), column)])
        for place, bracket in enumerate(self.diagram.brackets):
            self._write(grid, self._row(place), self._centre(bracket.start, bracket.end), self.labels[place])
        for number, (texts, role) in enumerate(self.rows):
            for word, text in enumerate(texts):
                self._write(grid, self.top + number, self._centre(word, word + 1), [(text, role)])
        return grid

    def _row(self, place: int | None) -> int:
        """Return the row of the label of a bracket, or the first row of the words if `place` is None."""
        return self.top if place is None else self.top - _ROWS * self.levels[place]

    def _centre(self, start: int, end: int) -> int:
        first, stop = self.spans.extent(start, end)
        return (first + stop - 1) // 2

    def _write(self, grid: Grid, row: int, centre: int, label: list[Segment]) -> None:
        column = centre - (segments_width(label) - 1) // 2
        outline.write(grid, row, column, label)
