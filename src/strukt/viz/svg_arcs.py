"""Tags and arcs as SVG, as dependency trees are drawn in papers: arcs above the words, tags below."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from strukt.viz.diagram import Arc, Diagram
from strukt.viz.listing import shorten
from strukt.viz.svg_elements import FORM, SMALL, faint, label, opening, text, text_width

_LEVEL, _LINE, _LEG, _MARGIN, _GAP = 34.0, 19.0, 8.0, 14.0, 22.0


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
        self.baseline = _MARGIN + (_LEVEL * (levels + 1) + 8 if diagram.heads else FORM)
        self.centres, self.width = self._centres()
        self.height = self.baseline + _LINE * (bool(diagram.tags) + bool(diagram.tag_probabilities)) + 10

    def _centres(self) -> tuple[list[float], float]:
        ending: list[list[Arc]] = [[] for _ in self.diagram.forms]
        for arc in self.arcs:
            ending[arc.right].append(arc)
        centres: list[float] = []
        end = _MARGIN
        for word, arcs in enumerate(ending):
            half = self._block_width(word) / 2
            centre = max([end + half, *(centres[arc.left] + self._arc_width(arc) for arc in arcs)])
            centres.append(centre)
            end = centre + half + _GAP
        return centres, end - _GAP + _MARGIN if centres else 2 * _MARGIN

    def _arc_width(self, arc: Arc) -> float:
        """The room that an arc needs between the centres of its words: its label and a bend on each side."""
        return abs(self.offsets[arc]) + _label_width(arc) + 28.0

    def _block_width(self, word: int) -> float:
        form = text_width(self.diagram.forms[word], FORM)
        tag = text_width(self.diagram.tags[word], SMALL) if self.diagram.tags else 0.0
        return max(form, 1.1 * tag, 2 * self.reach[word])

    def elements(self) -> Iterator[str]:
        yield opening(self.diagram.heading, self.diagram.description(), self.width, self.height)
        for arc in sorted(self.arcs, key=lambda arc: -arc.level):
            yield from self._arc(arc)
        for word in self.diagram.roots():
            yield from self._root(word)
        for word in range(len(self.centres)):
            yield from self._word(word)
        yield "</svg>"

    def _arc(self, arc: Arc) -> Iterator[str]:
        start, stop = self._ends(arc)
        top = self.baseline - 22 - _LEVEL * (arc.level - 0.25)
        foot = self.baseline - 22
        bend = math.copysign(min(abs(stop - start) / 2, 14.0 + 5.0 * arc.level), stop - start)
        rise = f"M{start:.1f} {foot:.1f} Q{start:.1f} {top:.1f} {start + bend:.1f} {top:.1f}"
        fall = f"L{stop - bend:.1f} {top:.1f} Q{stop:.1f} {top:.1f} {stop:.1f} {foot - 6:.1f}"
        yield _group(arc.dependent + 1, arc.head + 1)
        yield f'<path class="arc" d="{rise} {fall}"{faint(arc.probability)}/>'
        yield _tip(stop, foot)
        if room := _label_width(arc):
            x = (start + stop - room) / 2 - 2
            yield f'<rect class="gap" x="{x:.1f}" y="{top - 7:.1f}" width="{room + 4:.1f}" height="14"/>'
            yield label((start + stop) / 2, top + 4, arc.label, arc.probability)
        yield "</g>"

    def _ends(self, arc: Arc) -> tuple[float, float]:
        """Where an arc leaves its head and where it enters its dependent."""
        return self.centres[arc.head] + self.offsets[arc], self.centres[arc.dependent]

    def _root(self, word: int) -> Iterator[str]:
        probabilities = self.diagram.head_probabilities
        centre, foot = self.centres[word], self.baseline - 22
        yield _group(word + 1, head=0)
        yield f'<path class="arc" d="M{centre:.1f} {_MARGIN + 10:.1f} L{centre:.1f} {foot - 6:.1f}"/>'
        yield _tip(centre, foot)
        name = self.diagram.relation(word) or "root"
        yield label(centre, _MARGIN + 6, name, probabilities[word] if probabilities else None)
        yield "</g>"

    def _word(self, word: int) -> Iterator[str]:
        centre, line = self.centres[word], self.baseline
        yield text(centre, line, "form", self.diagram.forms[word])
        if self.diagram.tags:
            line += _LINE
            yield text(centre, line, "tag", self.diagram.tags[word])
        if self.diagram.tag_probabilities:
            yield text(centre, line + 15, "probability", shorten(self.diagram.tag_probabilities[word]))


def _group(word: int, head: int) -> str:
    """What begins an arc: it says which one it is, as CoNLL-U counts, so that a page can answer to it."""
    return f'<g data-word="{word}" data-head="{head}">'


def _offsets(arcs: list[Arc]) -> dict[Arc, float]:
    """How far from the centre of its head each arc leaves it: lower arcs further out, so that none cross."""
    fans: dict[tuple[int, bool], list[Arc]] = defaultdict(list)
    for arc in sorted(arcs, key=lambda arc: -arc.level):
        fans[arc.head, arc.dependent > arc.head].append(arc)
    return {
        arc: (_LEG if right else -_LEG) * rank
        for (_, right), fan in fans.items()
        for rank, arc in enumerate(fan, start=1)
    }


def _label_width(arc: Arc) -> float:
    return text_width(arc.label + (" .00" if arc.probability is not None else ""), SMALL)


def _tip(x: float, y: float) -> str:
    return f'<path class="tip" d="M{x:.1f} {y:.1f} l-4 -8 q4 2.5 8 0 z"/>'
