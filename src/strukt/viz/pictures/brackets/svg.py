"""Constituents and entities as SVG: labels above the words, with lines to their parts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import ceil

from strukt.viz.canvas.colour import ink_on
from strukt.viz.canvas.svg import FORM, SMALL, label, opacity, opening, text, text_width
from strukt.viz.canvas.wording import shorten
from strukt.viz.pictures.brackets.picture import Bracket, BracketDiagram, Part
from strukt.viz.pictures.brackets.spans import Spans

_MARGIN, _GAP = 14, 16
_LABEL, _CHIP, _LINES = 16.0, 18.0, 24.0  # the heights of a label, of a code, and of the lines below them
_WORDS, _ROW = 20.0, 19.0
_DIGIT, _BEND = 7.0, 7.0


def svg(diagram: BracketDiagram) -> str:
    """Draw the label of each bracket, and its code in colour, above its words, with lines to its parts."""
    return "\n".join(_Layout(diagram).elements())


class _Layout:
    """The positions of all parts, in pixels."""

    def __init__(self, diagram: BracketDiagram) -> None:
        self.diagram = diagram
        self.levels = diagram.levels()
        self.children = diagram.children()
        self.node = _LABEL + (_CHIP if diagram.bits else 0.0)
        words = [ceil(self._word_width(word)) for word in range(len(diagram.forms))]
        self.spans = Spans(
            words, diagram.brackets, [ceil(self._label_width(b)) for b in diagram.brackets], _GAP
        )
        self.top = _MARGIN + (self.node + _LINES) * max(self.levels, default=0)

    def _word_width(self, word: int) -> float:
        tag = text_width(self.diagram.tags[word], SMALL) if self.diagram.tags else 0.0
        return max(text_width(self.diagram.forms[word], FORM), 1.1 * tag)

    def _label_width(self, bracket: Bracket) -> float:
        probability = "" if bracket.probability is None else f" {shorten(bracket.probability)}"
        code = 0.0 if bracket.code is None else self._chip_width(bracket.code)
        return max(text_width(bracket.label + probability, SMALL), code)

    def _chip_width(self, code: int) -> float:
        return _DIGIT * len(self.diagram.hexadecimal(code)) + 8

    def elements(self) -> Iterator[str]:
        """Draw the picture, element by element."""
        height = self.top + _WORDS + (_ROW if self.diagram.tags else 0.0) + 4
        yield opening(
            self.diagram.heading, self.diagram.description(), self.spans.width + 2 * _MARGIN, height
        )
        for place, bracket in enumerate(self.diagram.brackets):
            yield self._lines(place, bracket)
        colours = self.diagram.colours()
        for place, bracket in enumerate(self.diagram.brackets):
            centre, y = self._centre(bracket.start, bracket.end), self._top(place)
            yield label(centre, y + 12, bracket.label, bracket.probability)
            if bracket.code is not None:
                yield from self._chip(centre, y + _LABEL, bracket.code, colours[bracket.code])
        yield from chain.from_iterable(map(self._word, range(len(self.diagram.forms))))
        yield "</svg>"

    def _lines(self, place: int, bracket: Bracket) -> str:
        """Draw the lines from a label to its parts as one path, so that transparent lines do not overlap."""
        centre, foot = self._centre(bracket.start, bracket.end), self._top(place) + self._height(bracket)
        bar = self._top(place) + self.node + _LINES / 2
        first, *middle = self.children[place]
        last = middle.pop() if middle else None
        if last is None:
            drawn = f"M{centre:.1f} {foot:.1f} V{self._part_top(first):.1f}"
        else:
            left, right = self._part_centre(first), self._part_centre(last)
            bend = min(_BEND, (right - left) / 2)
            drawn = " ".join(
                [
                    f"M{centre:.1f} {foot:.1f} V{bar:.1f}",
                    f"M{left:.1f} {self._part_top(first):.1f} V{bar + bend:.1f}",
                    f"Q{left:.1f} {bar:.1f} {left + bend:.1f} {bar:.1f} H{right - bend:.1f}",
                    f"Q{right:.1f} {bar:.1f} {right:.1f} {bar + bend:.1f} V{self._part_top(last):.1f}",
                    *(
                        f"M{self._part_centre(part):.1f} {bar:.1f} V{self._part_top(part):.1f}"
                        for part in middle
                    ),
                ]
            )
        return f'<path class="branch" d="{drawn}"{opacity(bracket.probability)}/>'

    def _chip(self, centre: float, y: float, code: int, colour: str) -> Iterator[str]:
        """Draw a code on a rectangle of its colour."""
        width = self._chip_width(code)
        place = f'x="{centre - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="15" rx="4"'
        yield f'<rect class="chip" fill="{colour}" {place}/>'
        digits = self.diagram.hexadecimal(code)
        yield f'<text class="code" fill="{ink_on(colour)}" x="{centre:.1f}" y="{y + 11.5:.1f}">{digits}</text>'

    def _word(self, word: int) -> Iterator[str]:
        """Draw a word with its tag above it."""
        centre, line = self._centre(word, word + 1), self.top + 12
        if self.diagram.tags:
            yield text(centre, line, "tag", self.diagram.tags[word])
            line += _ROW
        yield text(centre, line + 3, "form", self.diagram.forms[word])

    def _height(self, bracket: Bracket) -> float:
        return _LABEL + (0.0 if bracket.code is None else _CHIP)

    def _top(self, place: int) -> float:
        """Return the y coordinate of the top of a bracket."""
        return self.top - (self.node + _LINES) * self.levels[place]

    def _part_top(self, part: Part) -> float:
        return self.top if part.bracket is None else self._top(part.bracket)

    def _part_centre(self, part: Part) -> float:
        return self._centre(part.start, part.end)

    def _centre(self, start: int, end: int) -> float:
        first, stop = self.spans.extent(start, end)
        return _MARGIN + (first + stop) / 2
