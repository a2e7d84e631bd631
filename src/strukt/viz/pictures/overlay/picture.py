"""Several structures of one sentence in one picture: common parts, and the others with their weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from strukt.viz.canvas.wording import made_distinct, sentences, two_digits
from strukt.viz.pictures.base import Picture
from strukt.viz.pictures.brackets.picture import BracketDiagram
from strukt.viz.pictures.dependency_tree.picture import Diagram

MOST = 9
"""The largest number of structures in one picture; more could not be distinguished."""


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
    """A bracket over the words `start` to `end - 1`, counted from 0; `code` is the code of its label, or empty."""

    start: int
    end: int
    label: str
    code: str


Part = OverlaidArc | OverlaidTag | OverlaidSpan
"""The parts by which structures are compared."""


class Share(NamedTuple):
    """The share of the structures that have a part.

    Attributes:
        weight: The total weight of these structures.
        kind: `shared` if all structures have the part, `first` if the heaviest has it but another lacks it, and
            `other` if the heaviest lacks it.
    """

    weight: float
    kind: Literal["shared", "first", "other"]

    @property
    def number(self) -> str:
        """The weight as text; empty for shared parts."""
        return "" if self.kind == "shared" else two_digits(self.weight)


@dataclass(frozen=True)
class Overlay(Picture):
    """Several structures of a sentence in one picture; the result of `overlay`.

    Attributes:
        forms: The words of the sentence.
        parts: Every part that some structure has, with the share of the structures that have it.
        count: The number of structures.
        weight: The total weight of the structures.
        others: The number of further structures, which are not in the picture.
    """

    forms: list[str]
    parts: dict[Part, Share]
    count: int
    weight: float
    others: int

    @property
    def heading(self) -> str:
        """The heading, such as '3 structures in one picture'."""
        return f"{self.count} structures in one picture"

    def remark(self) -> str:
        """Explain the picture in a few words."""
        number = f"{self.count} of {self.count + self.others}" if self.others else f"{self.count}"
        return f"{number} in one picture: shared parts are grey, the others show their weight"

    def description(self) -> str:
        """Describe the parts in words, for screen readers."""
        names = made_distinct(self.forms)
        texts: dict[str, list[str]] = {"shared": [], "first": [], "other": []}
        for part, share in self.parts.items():
            texts[share.kind].append(f"{_described(part, names)} {share.number}".strip())
        shared, first, other = (", ".join(parts) for parts in texts.values())
        return sentences(
            " ".join(self.forms),
            f"{self.count} structures, weight {two_digits(self.weight)}",
            f"All have: {shared}" if shared else "Nothing is common to all",
            first and f"The heaviest has: {first}",
            other and f"Only others have: {other}",
        )


def overlay(structures: Sequence[Picture], weights: Sequence[float], others: int = 0) -> Overlay | None:
    """Lay the heaviest structures over each other, at most `MOST`.

    Args:
        structures: The pictures of the structures, the heaviest first.
        weights: The weights of the structures, in the same order.
        others: The number of further structures.

    Returns:
        The picture; None if there is nothing to compare: a single structure, tables, or pictures of different
        kinds or of different words.

    Examples:
        >>> trees = [Diagram(["Dogs", "bark"], ["N", "V"], heads=heads) for heads in ([2, 0], [0, 1])]
        >>> picture = overlay(trees, [0.75, 0.25])
        >>> picture.parts[OverlaidTag(1, "N")], picture.parts[OverlaidArc(2, 1, "")]
        (Share(weight=1.0, kind='shared'), Share(weight=0.75, kind='first'))
    """
    drawn, weights_drawn = structures[:MOST], weights[:MOST]
    pictures = [picture for picture in drawn if isinstance(picture, (Diagram, BracketDiagram))]
    if len(drawn) < 2 or len(pictures) < len(drawn):
        return None
    if len({(type(picture), tuple(picture.forms)) for picture in pictures}) > 1:
        return None
    inside = [dict.fromkeys(_parts(picture)) for picture in pictures]
    shares = {part: _share(part, inside, weights_drawn) for parts in inside for part in parts}
    total = min(sum(weights_drawn), 1.0)
    return Overlay(list(pictures[0].forms), shares, len(drawn), total, len(structures) - len(drawn) + others)


def _share(part: Part, inside: list[dict[Part, None]], weights: Sequence[float]) -> Share:
    """Return the share of the structures, whose parts are `inside`, that have a part."""
    having = [part in parts for parts in inside]
    weight = min(sum(weight for weight, has in zip(weights, having, strict=True) if has), 1.0)
    return Share(weight, "shared" if all(having) else "first" if having[0] else "other")


def _parts(picture: Diagram | BracketDiagram) -> Iterator[Part]:
    """Yield the tags, and the arcs or brackets, of a structure."""
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


def _described(part: Part, names: list[str]) -> str:
    """Describe a part in words, for screen readers."""
    if isinstance(part, OverlaidTag):
        return f"{names[part.word - 1]} {part.tag}"
    if isinstance(part, OverlaidSpan):
        name = " ".join(text for text in (part.label, part.code and f"code {part.code}") if text)
        return f"{name} over {' '.join(names[part.start : part.end])}".strip()
    word = names[part.word - 1]
    if not part.head:
        return f"{word} {part.label or 'root'}"
    return f"{word} {f'{part.label} of' if part.label else 'below'} {names[part.head - 1]}"
