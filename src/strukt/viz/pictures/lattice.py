"""Lattices: the probable tags of each word, and the steps from tag to tag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from strukt.viz.canvas.svg import FORM, SMALL, opening, text, text_width
from strukt.viz.canvas.terminal import Palette, paint, shade
from strukt.viz.canvas.width import clip, display_width, folded, pad, printable
from strukt.viz.canvas.wording import shorten
from strukt.viz.pictures.base import Picture, require_probability

LEAST = 0.01
"""The smallest probability of a drawn tag or step."""

_MARGIN, _TITLE, _ROW, _GAP, _RADIUS, _WORD = 14.0, 30.0, 40.0, 46.0, 9.0, 34.0

Point = tuple[float, float]


class Step(NamedTuple):
    """A step from the tag of a word to the tag of the next word; words and tags are counted from 0.

    Attributes:
        word: The first of the two words.
        before: The tag of this word.
        after: The tag of the next word.
        probability: The probability that the two words have these tags.

    Examples:
        >>> from strukt.viz import Lattice
        >>> Lattice(["a", "b"], ["X", "Y"], [[0.9, 0.1], [0.2, 0.8]], [[[0.2, 0.7], [0.0, 0.1]]]).steps()[1]
        Step(word=0, before=0, after=1, probability=0.7)
    """

    word: int
    before: int
    after: int
    probability: float


@dataclass(frozen=True)
class Lattice(Picture):
    """The probability of each tag of each word, and of each step from tag to tag.

    Args:
        forms: The n words.
        tags: The names of the c tags.
        marginals: The probabilities of the tags of each word: n rows of c.
        transitions: The joint probabilities of the tags of neighbouring words: n - 1 tables of c rows of c, a row
            for each tag of the first word, and in it an entry for each tag of the second.
        title: The title; may be empty.

    Raises:
        ValueError: If there is not one probability for each tag and each step.
        OutOfRangeError: If a probability is not between 0 and 1.

    Examples:
        >>> lattice = Lattice(["a", "b"], ["X", "Y"], [[0.9, 0.1], [0.2, 0.8]], [[[0.2, 0.7], [0.0, 0.1]]])
        >>> lattice.steps()[1], lattice.used()
        (Step(word=0, before=0, after=1, probability=0.7), [0, 1])
    """

    forms: Sequence[str]
    tags: Sequence[str]
    marginals: Sequence[Sequence[float]]
    transitions: Sequence[Sequence[Sequence[float]]]
    title: str = ""

    def __post_init__(self) -> None:
        n, c = len(self.forms), len(self.tags)
        if len(self.marginals) != n or any(len(row) != c for row in self.marginals):
            raise ValueError(
                f"marginals does not have {n} rows of {c}; expected a row for each word, a column for each tag"
            )
        tables = self.transitions
        if len(tables) != max(n - 1, 0) or any(
            len(table) != c or any(len(row) != c for row in table) for table in tables
        ):
            raise ValueError(
                f"transitions does not have {max(n - 1, 0)} tables of {c} rows of {c}; expected a table for each "
                "pair of neighbouring words, with a row and a column for each tag"
            )
        every = [value for row in self.marginals for value in row]
        every += [value for table in tables for row in table for value in row]
        for value in every:
            require_probability("marginals or transitions", value)

    def used(self) -> list[int]:
        """Return the tags, in their order, whose probability is at least `LEAST` (0.01) at some word."""
        return [tag for tag in range(len(self.tags)) if any(row[tag] >= LEAST for row in self.marginals)]

    def steps(self) -> list[Step]:
        """Return the steps whose probability is at least `LEAST` (0.01), from left to right."""
        return [
            Step(word, before, after, probability)
            for word, table in enumerate(self.transitions)
            for before, row in enumerate(table)
            for after, probability in enumerate(row)
            if probability >= LEAST
        ]

    @property
    def heading(self) -> str:
        """The title, or the kind of picture if there is none."""
        return self.title or "Lattice of tags"

    def description(self) -> str:
        """Describe the tags in words, for screen readers."""
        texts = []
        for form, row in zip(self.forms, self.marginals, strict=True):
            order = sorted(self.used(), key=lambda tag: -row[tag])
            named = ", ".join(f"{self.tags[tag]} {row[tag]:.2f}" for tag in order if row[tag] >= LEAST)
            texts.append(f"{form}: {named}")
        return "; ".join([*([self.title] if self.title else []), *texts])


def svg(lattice: Lattice) -> str:
    """Draw a column of tags above each word, more opaque if more probable, and lines between the tags."""
    return "\n".join(_elements(lattice))


def _elements(lattice: Lattice) -> Iterator[str]:
    """Draw the picture, element by element."""
    used = lattice.used()
    rows = {tag: row for row, tag in enumerate(used)}
    side = max([0.0, *(text_width(lattice.tags[tag], SMALL) for tag in used)]) + 2 * _MARGIN
    top = _MARGIN + (_TITLE if lattice.title else 0.0) + _ROW / 2
    centres, right = _centres(lattice, side)
    width = max(right + _MARGIN, text_width(lattice.title, FORM) + 2 * _MARGIN)
    bottom = top + _ROW * max(len(used) - 1, 0) + _ROW / 2
    yield opening(lattice.heading, lattice.description(), width, bottom + _WORD + _MARGIN)
    if lattice.title:
        yield text(width / 2, _MARGIN + 14, "title", lattice.title)
    for step in lattice.steps():
        if step.before in rows and step.after in rows:
            start = centres[step.word], top + _ROW * rows[step.before]
            end = centres[step.word + 1], top + _ROW * rows[step.after]
            yield _line(start, end, step.probability)
    for tag, row in rows.items():
        yield text(side / 2, top + _ROW * row + 4, "label", lattice.tags[tag])
        for word, x in enumerate(centres):
            if lattice.marginals[word][tag] >= LEAST:
                yield from _node(x, top + _ROW * row, lattice.marginals[word][tag])
    for x, form in zip(centres, lattice.forms, strict=True):
        yield text(x, bottom + _WORD / 2 + 6, "form", form)
    yield "</svg>"


def _centres(lattice: Lattice, left: float) -> tuple[list[float], float]:
    """Return the centres of the words, and the end of the last one."""
    centres = []
    for form in lattice.forms:
        width = max(text_width(form, FORM), 2 * _RADIUS) + _GAP
        centres.append(left + width / 2)
        left += width
    return centres, left


def _line(start: Point, end: Point, probability: float) -> str:
    """Draw a step as a line, the wider and darker the more probable."""
    place = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    opacity, width = 0.15 + 0.85 * probability, 0.75 + 2.25 * probability
    return f'<line class="step" {place} stroke-opacity="{opacity:.2f}" stroke-width="{width:.2f}"/>'


def _node(x: float, y: float, probability: float) -> Iterator[str]:
    """Draw a tag as a circle, the darker the more probable, with its probability."""
    yield f'<circle class="gap" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:.1f}"/>'
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:.1f}" fill-opacity="{probability:.2f}"'
    yield f'<circle class="node" {place}/>'
    yield text(x, y + _RADIUS + 11, "probability", shorten(probability))


def terminal(lattice: Lattice, width: int, palette: Palette) -> str:
    """Draw the tags of each word, and below it the steps to the next one, the most probable first.

    Examples:
        >>> lattice = Lattice(["a", "bc"], ["X", "Y"], [[0.9, 0.1], [0.2, 0.8]], [[[0.2, 0.7], [0.0, 0.1]]])
        >>> print(terminal(lattice, 80, {}))
        a   █ X .90  ░ Y .10
        │   X → Y .70  X → X .20  Y → Y .10
        bc  █ Y .80  ░ X .20
    """
    forms = [clip(form, width // 3) for form in lattice.forms]
    side = max(map(display_width, forms), default=0)
    steps: dict[int, list[tuple[float, str]]] = {}
    for step in lattice.steps():
        before, after = lattice.tags[step.before], lattice.tags[step.after]
        name = f"{before} → {after} {shorten(step.probability)}"
        steps.setdefault(step.word, []).append((step.probability, name))
    lines = [printable(lattice.title)] if lattice.title else []
    for word, (form, row) in enumerate(zip(forms, lattice.marginals, strict=True)):
        tags = [
            (p, f"{shade(p)} {lattice.tags[tag]} {shorten(p)}") for tag, p in enumerate(row) if p >= LEAST
        ] or [(0.0, "")]  # a word without a probable tag has a line, too
        below = "│" if word + 1 < len(forms) else ""
        lines += _block(form, below, _sorted(tags), side, width, palette, "tag")
        lines += _block("│", "│", _sorted(steps.get(word, [])), side, width, palette, "probability")
    return "\n".join(lines)


def _sorted(items: Sequence[tuple[float, str]]) -> list[str]:
    return [name for _, name in sorted(items, key=lambda item: -item[0])]


def _block(
    first: str, others: str, items: Sequence[str], side: int, width: int, palette: Palette, role: str
) -> Iterator[str]:
    """Write items in as many lines as they need; `first` begins the first line, `others` all other lines."""
    for number, places in enumerate(folded([display_width(item) for item in items], width - side - 2)):
        name = pad(others if number else first, side)
        shown = printable("  ".join(items[place] for place in places))
        line = f"{paint(name, palette.get('form', ''))}  {paint(shown, palette.get(role, ''))}"
        yield line.rstrip()
