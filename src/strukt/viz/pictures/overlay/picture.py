"""Structures of one sentence laid over each other: what is common to all once, the rest with its weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from strukt.viz.canvas.wording import sentences, told_apart
from strukt.viz.pictures.arcs.listing import exact
from strukt.viz.pictures.arcs.picture import Diagram
from strukt.viz.pictures.brackets.picture import BracketDiagram
from strukt.viz.pictures.heat_map import HeatMap
from strukt.viz.pictures.weighted import WeightedStructures

MOST = 9
"""Structures that are laid over each other at most: more cannot be told apart."""


class OverlaidArc(NamedTuple):
    """An arc of a tree; words are counted from 1, and 0 is the root."""

    head: int
    word: int
    label: str


class OverlaidTag(NamedTuple):
    """A tag of a word, which is counted from 1."""

    word: int
    tag: str


class OverlaidSpan(NamedTuple):
    """A bracket from `start`, counted from 0, to before `end`; the code is that of its label, if there is one."""

    start: int
    end: int
    label: str
    code: str


Part = OverlaidArc | OverlaidTag | OverlaidSpan
"""What structures are compared by."""


class Share(NamedTuple):
    """In which of the structures a part is.

    Attributes:
        weight: Of these together.
        kind: `shared` if all have it; otherwise `first` if the heaviest has it, and `other` if only others have.
    """

    weight: float
    kind: Literal["shared", "first", "other"]

    @property
    def number(self) -> str:
        """The weight as it is written on the part; nothing on what is shared."""
        return "" if self.kind == "shared" else exact(self.weight)


@dataclass(frozen=True)
class Overlay:
    """What a picture of structures laid over each other shows; `overlay` makes it.

    Attributes:
        forms: The words.
        parts: Every part of the structures, with the share of those that have it.
        count: How many structures there are.
        weight: Their weight together.
        others: How many there are besides.
    """

    forms: list[str]
    parts: dict[Part, Share]
    count: int
    weight: float
    others: int

    @property
    def heading(self) -> str:
        """What kind of picture it is."""
        return f"{self.count} structures in one picture"

    def remark(self) -> str:
        """What is drawn, in a few words."""
        number = f"{self.count} of {self.count + self.others}" if self.others else f"{self.count}"
        return f"{number} in one picture: what all have is grey, the rest has its weight"

    def description(self) -> str:
        """The parts in words, for those who do not see them."""
        names = told_apart(self.forms)
        said: dict[str, list[str]] = {"shared": [], "first": [], "other": []}
        for part, share in self.parts.items():
            said[share.kind].append(f"{_said(part, names)} {share.number}".strip())
        shared, first, other = (", ".join(texts) for texts in said.values())
        return sentences(
            " ".join(self.forms),
            f"{self.count} structures, weight {exact(self.weight)}",
            f"All have: {shared}" if shared else "Nothing is common to all",
            first and f"The heaviest has: {first}",
            other and f"Only others have: {other}",
        )


def overlay(found: WeightedStructures) -> Overlay | None:
    """The heaviest structures laid over each other, at most `MOST`.

    Args:
        found: The structures.

    Returns:
        None where there is nothing to compare: a single structure, tables, different kinds of pictures or words.

    Examples:
        >>> trees = [Diagram(["Dogs", "bark"], ["N", "V"], heads=heads) for heads in ([2, 0], [0, 1])]
        >>> laid = overlay(WeightedStructures(trees, [0.75, 0.25]))
        >>> laid.parts[OverlaidTag(1, "N")], laid.parts[OverlaidArc(2, 1, "")]
        (Share(weight=1.0, kind='shared'), Share(weight=0.75, kind='first'))
    """
    drawn = list(zip(found.pictures, found.weights, strict=True))[:MOST]
    pictures = [picture for picture, _ in drawn if not isinstance(picture, HeatMap)]
    if len(drawn) < 2 or len(pictures) < len(drawn):
        return None
    if len({(type(picture), tuple(picture.forms)) for picture in pictures}) > 1:
        return None
    inside = [dict.fromkeys(_parts(picture)) for picture in pictures]
    weights = [weight for _, weight in drawn]
    shares = {part: _share(part, inside, weights) for parts in inside for part in parts}
    others = len(found.pictures) - len(drawn) + found.others
    return Overlay(list(pictures[0].forms), shares, len(drawn), min(sum(weights), 1.0), others)


def _share(part: Part, inside: list[dict[Part, None]], weights: list[float]) -> Share:
    having = [part in parts for parts in inside]
    weight = min(sum(weight for weight, has in zip(weights, having, strict=True) if has), 1.0)
    return Share(weight, "shared" if all(having) else "first" if having[0] else "other")


def _parts(picture: Diagram | BracketDiagram) -> Iterator[Part]:
    for word, tag in enumerate(picture.tags, start=1):
        if tag:
            yield OverlaidTag(word, tag)
    if isinstance(picture, Diagram):
        for word, head in enumerate(picture.heads, start=1):
            if head >= 0:
                yield OverlaidArc(head, word, picture.relation(word - 1))
        return
    for bracket in picture.brackets:
        code = "" if bracket.code is None else picture.hexadecimal(bracket.code)
        yield OverlaidSpan(bracket.start, bracket.end, bracket.label, code)


def _said(part: Part, names: list[str]) -> str:
    if isinstance(part, OverlaidTag):
        return f"{names[part.word - 1]} {part.tag}"
    if isinstance(part, OverlaidSpan):
        what = " ".join(text for text in (part.label, part.code and f"code {part.code}") if text)
        return f"{what} over {' '.join(names[part.start : part.end])}".strip()
    word = names[part.word - 1]
    if not part.head:
        return f"{word} {part.label or 'root'}"
    return f"{word} {f'{part.label} of' if part.label else 'below'} {names[part.head - 1]}"
