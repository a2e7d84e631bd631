"""Tags and arcs as SVG, as dependency trees are drawn in papers: arcs above the words, tags below."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from strukt.viz.canvas.svg import FORM, SMALL, faint, opening, text, text_width
from strukt.viz.pictures.arcs.curve import (
    BENDS,
    LEG,
    LEVEL,
    LINE,
    MARGIN,
    centres,
    curve,
    group,
    label_width,
    stem,
)  # fmt: skip
from strukt.viz.pictures.arcs.listing import shorten
from strukt.viz.pictures.arcs.picture import Arc, Diagram


def draw(diagram: Diagram) -> str:
    """The picture for `strukt.viz.svg.draw`."""
    return "\n".join(_Picture(diagram).elements())


class _Picture:
    """Where everything stands, in pixels."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.arcs = diagram.arcs()
        self.offsets = _offsets(self.arcs)
        self.reach = [0.0] * len(diagram.forms)
        for arc, offset in self.offsets.items():
            self.reach[arc.head] = max(self.reach[arc.head], abs(offset))
        levels = max((arc.level for arc in self.arcs), default=0)
        self.baseline = MARGIN + (LEVEL * (levels + 1) + 8 if diagram.heads else FORM)
        self.centres, self.width = self._centres()
        self.height = self.baseline + LINE * (bool(diagram.tags) + bool(diagram.tag_probabilities)) + 10

    def _centres(self) -> tuple[list[float], float]:
        blocks = [self._block_width(word) for word in range(len(self.diagram.forms))]
        return centres(blocks, {arc: self._arc_width(arc) for arc in self.arcs})

    def _arc_width(self, arc: Arc) -> float:
        """The room that an arc needs between the centres of its words: its label and a bend on each side."""
        return abs(self.offsets[arc]) + label_width(arc) + BENDS

    def _block_width(self, word: int) -> float:
        form = text_width(self.diagram.forms[word], FORM)
        tag = text_width(self.diagram.tags[word], SMALL) if self.diagram.tags else 0.0
        return max(form, 1.1 * tag, 2 * self.reach[word])

    def elements(self) -> Iterator[str]:
        yield opening(self.diagram.heading, self.diagram.description(), self.width, self.height)
        for word in self.diagram.roots():  # below the labels of the arcs that they cross
            yield from self._root(word)
        for arc in sorted(self.arcs, key=lambda arc: -arc.level):
            yield from self._arc(arc)
        for word in range(len(self.centres)):
            yield from self._word(word)
        yield "</svg>"

    def _arc(self, arc: Arc) -> Iterator[str]:
        start, stop = self._ends(arc)
        yield group(arc.dependent + 1, arc.head + 1)
        yield from curve(arc, start, stop, self.baseline, faint(arc.probability))
        yield "</g>"

    def _ends(self, arc: Arc) -> tuple[float, float]:
        """Where an arc leaves its head and where it enters its dependent."""
        return self.centres[arc.head] + self.offsets[arc], self.centres[arc.dependent]

    def _root(self, word: int) -> Iterator[str]:
        probabilities = self.diagram.head_probabilities
        probability = probabilities[word] if probabilities else None
        yield group(word + 1, head=0)
        yield from stem(self.centres[word], self.baseline, self.diagram.relation(word) or "root", probability)
        yield "</g>"

    def _word(self, word: int) -> Iterator[str]:
        centre, line = self.centres[word], self.baseline
        yield text(centre, line, "form", self.diagram.forms[word])
        if self.diagram.tags:
            line += LINE
            yield text(centre, line, "tag", self.diagram.tags[word])
        if self.diagram.tag_probabilities:
            yield text(centre, line + 15, "probability", shorten(self.diagram.tag_probabilities[word]))


def _offsets(arcs: list[Arc]) -> dict[Arc, float]:
    """How far from the centre of its head each arc leaves it: lower arcs further out, so that none cross."""
    fans: dict[tuple[int, bool], list[Arc]] = defaultdict(list)
    for arc in sorted(arcs, key=lambda arc: -arc.level):
        fans[arc.head, arc.dependent > arc.head].append(arc)
    return {
        arc: (LEG if right else -LEG) * rank
        for (_, right), fan in fans.items()
        for rank, arc in enumerate(fan, start=1)
    }
