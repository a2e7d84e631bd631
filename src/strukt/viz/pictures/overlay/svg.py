"""Several structures in one picture as SVG: shared parts in grey, others in colour with their weight.

Parts of the heaviest structure have one colour. Parts that only other structures have are in another colour, with
dashed lines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from math import ceil

from strukt.viz.canvas.svg import FORM, SMALL, label, opening, text, text_width
from strukt.viz.canvas.width import printable
from strukt.viz.pictures.brackets.picture import Bracket
from strukt.viz.pictures.brackets.spans import Spans
from strukt.viz.pictures.dependency_tree.picture import Arc, levelled
from strukt.viz.pictures.dependency_tree.svg import (
    BENDS,
    GAP,
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
from strukt.viz.pictures.overlay.picture import OverlaidArc, OverlaidSpan, OverlaidTag, Overlay, Share

_STOREY, _TICK = 30.0, 8.0  # heights of a bracket with its label, and of its ends


def svg(overlay: Overlay) -> str:
    """Draw brackets if there are any, otherwise arcs."""
    spans = any(isinstance(part, OverlaidSpan) for part in overlay.parts)
    element = "\n".join((_Brackets if spans else _Arcs)(overlay).elements())
    return element.replace('class="strukt"', 'class="strukt overlay"', 1)


class _Layout(ABC):
    """The positions of all parts, in pixels: words, their tags below, and arcs or brackets above."""

    centres: list[float]
    width: float
    baseline: float

    def __init__(self, overlay: Overlay) -> None:
        self.overlay = overlay
        self.tags: list[list[tuple[OverlaidTag, Share]]] = [[] for _ in overlay.forms]
        for part, share in overlay.parts.items():
            if isinstance(part, OverlaidTag):
                self.tags[part.word - 1].append((part, share))
        for choices in self.tags:
            choices.sort(key=lambda choice: -choice[1].weight)

    @abstractmethod
    def above(self) -> Iterator[str]:
        """Draw the parts above the words."""

    def word_width(self, word: int) -> float:
        """Return the width of a word with its tags."""
        tags = [1.1 * text_width(_numbered(part.tag, share), SMALL) for part, share in self.tags[word]]
        return max([text_width(self.overlay.forms[word], FORM), *tags])

    def elements(self) -> Iterator[str]:
        """Draw the picture, element by element."""
        lines = max(map(len, self.tags), default=0)
        height = self.baseline + LINE * lines + 10
        yield opening(self.overlay.heading, self.overlay.description(), self.width, height)
        yield from self.above()
        for word, centre in enumerate(self.centres):
            yield text(centre, self.baseline, "form", self.overlay.forms[word])
            for line, (part, share) in enumerate(self.tags[word], start=1):
                about = f'data-word="{part.word}" data-tag="{_quoted(part.tag)}"'
                named = label(centre, self.baseline + LINE * line, part.tag, None, share.number)
                yield named.replace('class="label"', f'class="tag {share.kind}" {about}', 1)
        yield "</svg>"


class _Arcs(_Layout):
    """Dependency trees, or words with tags alone."""

    def __init__(self, overlay: Overlay) -> None:
        super().__init__(overlay)
        self.roots: dict[int, list[tuple[OverlaidArc, Share]]] = {}
        self.shares: dict[tuple[int, int, str], Share] = {}
        for part, share in overlay.parts.items():
            if isinstance(part, OverlaidArc) and part.head == 0:
                self.roots.setdefault(part.word - 1, []).append((part, share))
            elif isinstance(part, OverlaidArc):
                self.shares[part.head - 1, part.word - 1, part.label] = share
        self.arcs = levelled((Arc(*named, level=0) for named in self.shares), len(overlay.forms))
        self.ends = _ends(self.arcs, set(self.roots))
        levels = max((arc.level for arc in self.arcs), default=0)
        storeys = LEVEL * (levels + 1) + 8 + SMALL * (max(map(len, self.roots.values()), default=1) - 1)
        self.baseline = MARGIN + (storeys if self.arcs or self.roots else FORM)
        reach = [2 * self._reach(word) for word in range(len(overlay.forms))]
        blocks = [
            max(self.word_width(word), self._stem_width(word), reach[word]) for word in range(len(reach))
        ]
        self.centres, self.width = centres(blocks, {arc: self._arc_width(arc) for arc in self.arcs})

    def _reach(self, word: int) -> float:
        return max((abs(x) for (_, end), x in self.ends.items() if end == word), default=0.0) + LEG / 2

    def _stem_width(self, word: int) -> float:
        names = (_numbered(part.label or "root", share) for part, share in self.roots.get(word, ()))
        return max((text_width(name, SMALL) for name in names), default=0.0)

    def _arc_width(self, arc: Arc) -> float:
        ends = sum(abs(self.ends[arc, word]) for word in (arc.head, arc.dependent))
        return ends + label_width(arc, self._share(arc).number) + BENDS

    def _share(self, arc: Arc) -> Share:
        return self.shares[arc.head, arc.dependent, arc.label]

    def above(self) -> Iterator[str]:
        for word, roots in self.roots.items():
            for line, (part, share) in enumerate(roots):
                yield group(part.word, 0, share.kind)
                name = part.label or "root"
                yield from stem(self.centres[word], self.baseline, name, None, share.number, SMALL * line)
                yield "</g>"
        for arc in sorted(self.arcs, key=lambda arc: -arc.level):
            start, stop = (self.centres[word] + self.ends[arc, word] for word in (arc.head, arc.dependent))
            share = self._share(arc)
            yield group(arc.dependent + 1, arc.head + 1, share.kind)
            yield from curve(arc, start, stop, self.baseline, number=share.number)
            yield "</g>"


def _ends(arcs: list[Arc], roots: set[int]) -> dict[tuple[Arc, int], float]:
    """Return the distance of both ends of each arc from the centres of its words.

    Lower arcs end further out, so that few cross. The centre is for arcs from the root or, if there are none, for
    the only arc that enters the word, provided that it is the highest on its side.
    """
    entering: dict[int, int] = defaultdict(int)
    sides: dict[tuple[int, bool], list[Arc]] = defaultdict(list)
    for arc in sorted(arcs, key=lambda arc: -arc.level):
        entering[arc.dependent] += 1
        for word in (arc.left, arc.right):
            sides[word, word == arc.left].append(arc)
    ends = {}
    for (word, to_right), side in sides.items():
        alone = side[0].dependent == word and entering[word] == 1 and word not in roots
        for rank, arc in enumerate(side, start=0 if alone else 1):
            ends[arc, word] = (LEG if to_right else -LEG) * rank
    return ends


class _Brackets(_Layout):
    """Constituents and entities. Those of different structures may cross, so they are stacked."""

    def __init__(self, overlay: Overlay) -> None:
        super().__init__(overlay)
        spans = [(part, share) for part, share in overlay.parts.items() if isinstance(part, OverlaidSpan)]
        spans.reverse()  # inner ones first among those over the same words
        spans.sort(key=lambda each: (each[0].end - each[0].start, each[0].start))
        self.spans = spans
        brackets = [Bracket(part.label, part.start, part.end) for part, _ in reversed(spans)]
        needed = [ceil(text_width(_numbered(_name(part), share), SMALL)) for part, share in reversed(spans)]
        words = [ceil(self.word_width(word)) for word in range(len(overlay.forms))]
        self.places = Spans(words, brackets, needed, round(GAP))
        self.levels = self._levels()
        self.baseline = MARGIN + _STOREY * max(self.levels, default=0) + FORM
        self.centres = [
            MARGIN + sum(self.places.extent(word, word + 1)) / 2 for word in range(len(overlay.forms))
        ]
        self.width = self.places.width + 2 * MARGIN

    def _levels(self) -> list[int]:
        """Return the level of each bracket, just above all shorter brackets that overlap it."""
        skyline, levels = [0] * len(self.overlay.forms), []
        for part, _ in self.spans:
            levels.append(1 + max(skyline[part.start : part.end]))
            skyline[part.start : part.end] = [levels[-1]] * (part.end - part.start)
        return levels

    def above(self) -> Iterator[str]:
        for (part, share), level in zip(self.spans, self.levels, strict=True):
            left, right = (MARGIN + x for x in self.places.extent(part.start, part.end))
            y = self.baseline - FORM - _STOREY * level + 18
            about = f'data-start="{part.start}" data-end="{part.end}" data-label="{_quoted(part.label)}"'
            yield f'<g class="{share.kind}">'
            yield f'<path class="branch" d="M{left:.1f} {y + _TICK:.1f} V{y:.1f} H{right:.1f} v{_TICK:.1f}"/>'
            named = label((left + right) / 2, y - 5, _name(part), None, share.number)
            yield named.replace('class="label"', f'class="label" {about}', 1)
            yield "</g>"


def _name(part: OverlaidSpan) -> str:
    return f"{part.label} {part.code}".strip()


def _numbered(name: str, share: Share) -> str:
    return f"{name} {share.number}".strip()


def _quoted(value: str) -> str:
    return escape(printable(value), quote=True)
