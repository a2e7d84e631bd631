"""What a picture shows, said once for every way of drawing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from strukt.shown import Shown
from strukt.viz.canvas.wording import sentences, told_apart, with_number


@dataclass(frozen=True)
class Arc:
    """One arc of a tree between two words, counted from 0.

    Attributes:
        head: The word that the arc leaves.
        dependent: The word that it enters.
        label: What is written on it; may be empty.
        level: Its height above the words, from 1; two arcs above the same gap have different levels.
        probability: Its marginal probability, if known.
    """

    head: int
    dependent: int
    label: str
    level: int
    probability: float | None = None

    @property
    def left(self) -> int:
        """The first of its two words."""
        return min(self.head, self.dependent)

    @property
    def right(self) -> int:
        """The second of its two words."""
        return max(self.head, self.dependent)


def levelled(arcs: Iterable[Arc], words: int) -> list[Arc]:
    """Arcs with their levels, lowest first: a skyline, shorter arcs first, each just above what it covers.

    Args:
        arcs: Their levels are not read.
        words: The number of words.
    """
    skyline = [0] * words
    found = []
    for arc in sorted(arcs, key=lambda arc: (arc.right - arc.left, arc.left)):
        level = 1 + max(skyline[arc.left : arc.right])
        skyline[arc.left : arc.right] = [level] * (arc.right - arc.left)
        found.append(replace(arc, level=level))
    return found


@dataclass(frozen=True)
class Diagram(Shown):
    """A sentence with what is to be drawn around it; every column is empty or has one entry per word.

    Args:
        forms: The words.
        tags: The tag of each word.
        heads: The head of each word as in a CoNLL-U HEAD column: counted from 1, 0 is the root; -1 is no head.
        relations: The label of the arc that enters each word.
        tag_probabilities: The probability of each tag, in [0, 1].
        head_probabilities: The probability of each arc, in [0, 1].
        title: Which of several it is; may be empty.

    Raises:
        ValueError: If a column has another length than `forms`, or a head is out of range or its own head.

    Examples:
        >>> diagram = Diagram(["Dogs", "bark"], heads=[2, 0], relations=["nsubj", "root"])
        >>> diagram.arcs()
        [Arc(head=1, dependent=0, label='nsubj', level=1, probability=None)]
        >>> diagram.roots()
        [1]
        >>> diagram.description()
        'Dogs bark. Heads: Dogs nsubj of bark, bark root.'
    """

    forms: Sequence[str]
    tags: Sequence[str] = ()
    heads: Sequence[int] = ()
    relations: Sequence[str] = ()
    tag_probabilities: Sequence[float] = ()
    head_probabilities: Sequence[float] = ()
    title: str = ""

    def __post_init__(self) -> None:
        expected = len(self.forms)
        for name in ("tags", "heads", "relations", "tag_probabilities", "head_probabilities"):
            given = len(getattr(self, name))
            if given not in (0, expected):
                raise ValueError(f"{name}: got {given} entries, expected {expected} (one per word) or none")
        for word, head in enumerate(self.heads, start=1):
            if not -1 <= head <= expected or head == word:
                raise ValueError(
                    f"heads: word {word} has head {head}, expected -1, 0 or a word of 1..{expected}"
                )

    def arcs(self) -> list[Arc]:
        """The arcs between words, lowest first; the arcs from the root are `roots()`.

        O(n log n + sum of the lengths).
        """
        probabilities: Sequence[float | None] = self.head_probabilities or [None] * len(self.forms)
        between = [
            Arc(head - 1, word, self.relation(word), 0, probabilities[word])
            for word, head in enumerate(self.heads)
            if head > 0
        ]
        return levelled(between, len(self.forms))

    def roots(self) -> list[int]:
        """The words whose head is the root, counted from 0."""
        return [word for word, head in enumerate(self.heads) if head == 0]

    def relation(self, word: int) -> str:
        """The label of the arc that enters a word (counted from 0); empty where none is known."""
        return self.relations[word] if self.relations else ""

    @property
    def heading(self) -> str:
        """The title; what kind of picture it is, if it has none."""
        return self.title or (
            "Dependency tree" if self.heads else "Words with tags" if self.tags else "Words"
        )

    def description(self) -> str:
        """The words, tags and arcs in words, for those who do not see them."""
        names = told_apart(self.forms)
        tags = ", ".join(f"{name} {tag}" for name, tag in zip(names, self._said_tags(), strict=False) if tag)
        arcs = ", ".join(self._said_head(word, names) for word, head in enumerate(self.heads) if head >= 0)
        return sentences(
            self.title, " ".join(self.forms), tags and f"Tags: {tags}", arcs and f"Heads: {arcs}"
        )

    def _said_tags(self) -> list[str]:
        """What is below each word; nothing if nothing is below any."""
        if not self.tag_probabilities:
            return list(self.tags)
        tags = self.tags or [""] * len(self.forms)
        return [
            with_number(tag, probability).strip()
            for tag, probability in zip(tags, self.tag_probabilities, strict=True)
        ]

    def _said_head(self, word: int, names: Sequence[str]) -> str:
        relation, head = self.relation(word), self.heads[word]
        if head:
            relation = f"{relation} of {names[head - 1]}" if relation else f"below {names[head - 1]}"
        probability = self.head_probabilities[word] if self.head_probabilities else None
        return with_number(f"{names[word]} {relation or 'root'}", probability)
