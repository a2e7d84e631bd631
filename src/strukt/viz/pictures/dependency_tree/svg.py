"""Words with tags and arcs as SVG, as dependency trees are drawn in papers: arcs above the words, tags below."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from strukt.viz.canvas.svg import FORM, SMALL, label, opacity, opening, text, text_width
from strukt.viz.canvas.wording import shorten
from strukt.viz.pictures.dependency_tree.picture import Arc, Diagram

LEVEL, LINE, LEG, MARGIN, GAP = 34.0, 19.0, 8.0, 14.0, 22.0
"""In pixels: the heights of a level of arcs and of a line below the words, the distance between arcs that leave a
word to one side, the margin, and the distance between words.
"""

BENDS = 28.0
"""The width that the two bends of an arc need."""

_FOOT = 22.0  # the distance of the ends of arcs above the words


def svg(diagram: Diagram) -> str:
    """Draw arcs above the words; arcs from the root come from the top."""
    return "\n".join(_Layout(diagram).elements())


class _Layout:
    """The positions of all parts, in pixels."""

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
        """Return the distance that an arc needs between the centres of its words: its label and two bends."""
        return abs(self.offsets[arc]) + label_width(arc) + BENDS

    def _block_width(self, word: int) -> float:
        """Return the width that a word needs, with its tag and the arcs that leave it."""
        form = text_width(self.diagram.forms[word], FORM)
        tag = text_width(self.diagram.tags[word], SMALL) if self.diagram.tags else 0.0
        return max(form, 1.1 * tag, 2 * self.reach[word])

    def elements(self) -> Iterator[str]:
        """Draw the picture, element by element."""
        yield opening(self.diagram.heading, self.diagram.description(), self.width, self.height)
        for word in self.diagram.roots():  # first, so that labels of arcs cover them
            yield from self._root(word)
        for arc in sorted(self.arcs, key=lambda arc: -arc.level):
            yield from self._arc(arc)
        for word in range(len(self.centres)):
            yield from self._word(word)
        yield "</svg>"

    def _arc(self, arc: Arc) -> Iterator[str]:
        """Draw an arc between words."""
        start, stop = self._ends(arc)
        yield group(arc.dependent + 1, arc.head + 1)
        yield from curve(arc, start, stop, self.baseline, opacity(arc.probability))
        yield "</g>"

    def _ends(self, arc: Arc) -> tuple[float, float]:
        """Return the x coordinates at which an arc leaves its head and enters its dependent."""
        return self.centres[arc.head] + self.offsets[arc], self.centres[arc.dependent]

    def _root(self, word: int) -> Iterator[str]:
        """Draw the arc from the root to a word."""
        probabilities = self.diagram.head_probabilities
        probability = probabilities[word] if probabilities else None
        yield group(word + 1, head=0)
        yield from stem(self.centres[word], self.baseline, self.diagram.relation(word) or "root", probability)
        yield "</g>"

    def _word(self, word: int) -> Iterator[str]:
        """Draw a word with its tag and probability below it."""
        centre, line = self.centres[word], self.baseline
        yield text(centre, line, "form", self.diagram.forms[word])
        if self.diagram.tags:
            line += LINE
            yield text(centre, line, "tag", self.diagram.tags[word])
        if self.diagram.tag_probabilities:
            yield text(centre, line + 15, "probability", shorten(self.diagram.tag_probabilities[word]))


def _offsets(arcs: list[Arc]) -> dict[Arc, float]:
    """Return the distance of each arc from the centre of its head.

    Lower arcs are further out, so that arcs from one head do not cross.
    """
    fans: dict[tuple[int, bool], list[Arc]] = defaultdict(list)
    for arc in sorted(arcs, key=lambda arc: -arc.level):
        fans[arc.head, arc.dependent > arc.head].append(arc)
    return {
        arc: (LEG if right else -LEG) * rank
        for (_, right), fan in fans.items()
        for rank, arc in enumerate(fan, start=1)
    }


def centres(blocks: Sequence[float], arcs: Mapping[Arc, float]) -> tuple[list[float], float]:
    """Return the centre of each word, and the width of the picture.

    Args:
        blocks: The width that each word needs.
        arcs: The distance that each arc needs between the centres of its words.
    """
    ending: list[list[Arc]] = [[] for _ in blocks]
    for arc in arcs:
        ending[arc.right].append(arc)
    result: list[float] = []
    end = MARGIN
    for block, here in zip(blocks, ending, strict=True):
        centre = max([end + block / 2, *(result[arc.left] + arcs[arc] for arc in here)])
        result.append(centre)
        end = centre + block / 2 + GAP
    return result, end - GAP + MARGIN if result else 2 * MARGIN


def curve(
    arc: Arc, start: float, stop: float, baseline: float, more: str = "", number: str = ""
) -> Iterator[str]:
    """Draw an arc between two words, with its tip and its label.

    Args:
        arc: The arc.
        start: The x coordinate at which the arc leaves its head.
        stop: The x coordinate at which the arc enters its dependent.
        baseline: The y coordinate of the words.
        more: Further attributes of the line.
        number: A number after the label, in place of the probability.
    """
    foot = baseline - _FOOT
    top = foot - LEVEL * (arc.level - 0.25)
    bend = math.copysign(min(abs(stop - start) / 2, 14.0 + 5.0 * arc.level), stop - start)
    rise = f"M{start:.1f} {foot:.1f} Q{start:.1f} {top:.1f} {start + bend:.1f} {top:.1f}"
    fall = f"L{stop - bend:.1f} {top:.1f} Q{stop:.1f} {top:.1f} {stop:.1f} {foot - 6:.1f}"
    yield f'<path class="arc" d="{rise} {fall}"{more}/>'
    yield _tip(stop, foot)
    if width := label_width(arc, number):
        x = (start + stop - width) / 2 - 2
        yield f'<rect class="gap" x="{x:.1f}" y="{top - 7:.1f}" width="{width + 4:.1f}" height="14"/>'
        yield label((start + stop) / 2, top + 4, arc.label, arc.probability, number)


def stem(
    centre: float,
    baseline: float,
    name: str,
    probability: float | None,
    number: str = "",
    lowered: float = 0.0,
) -> Iterator[str]:
    """Draw an arc from the root, with its tip and its label, which may be `lowered` by some pixels."""
    foot = baseline - _FOOT
    yield f'<path class="arc" d="M{centre:.1f} {MARGIN + 10 + lowered:.1f} L{centre:.1f} {foot - 6:.1f}"/>'
    yield _tip(centre, foot)
    yield label(centre, MARGIN + 6 + lowered, name, probability, number)


def group(word: int, head: int, kind: str = "") -> str:
    """Open the group of an arc; its word and head, counted as in CoNLL-U, let scripts of a page find it."""
    role = f' class="{kind}"' if kind else ""
    return f'<g{role} data-word="{word}" data-head="{head}">'


def label_width(arc: Arc, number: str = "") -> float:
    """Return the width of the label of an arc with its probability or a number."""
    number = number or ("" if arc.probability is None else ".00")
    return text_width(f"{arc.label} {number}".strip(), SMALL)


def _tip(x: float, y: float) -> str:
    return f'<path class="tip" d="M{x:.1f} {y:.1f} l-4 -8 q4 2.5 8 0 z"/>'
