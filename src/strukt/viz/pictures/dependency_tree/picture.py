"""Words with tags and arcs, such as dependency trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from strukt.viz.canvas.wording import made_distinct, sentences, with_number
from strukt.viz.pictures.base import Picture, require_probability


@dataclass(frozen=True)
class Arc:
    """An arc of a tree between two words, which are counted from 0.

    Attributes:
        head: The word that the arc leaves.
        dependent: The word that it enters.
        label: The label of the arc; may be empty.
        level: The height of the arc above the words, from 1. Two arcs over the same gap have different levels.
        probability: The marginal probability of the arc, if known.

    Examples:
        >>> from strukt.viz import Diagram
        >>> Diagram(["Dogs", "bark"], heads=[2, 0], relations=["nsubj", "root"]).arcs()
        [Arc(head=1, dependent=0, label='nsubj', level=1, probability=None)]
    """

    head: int
    dependent: int
    label: str
    level: int
    probability: float | None = None

    @property
    def left(self) -> int:
        """The left one of the two words of the arc."""
        return min(self.head, self.dependent)

    @property
    def right(self) -> int:
        """The right one of the two words of the arc."""
        return max(self.head, self.dependent)


def levelled(arcs: Iterable[Arc], words: int) -> list[Arc]:
    """Assign levels to arcs, each just above the shorter arcs that overlap it; return them, the shortest first.

    Args:
        arcs: The arcs; their levels are ignored.
        words: The number of words of the sentence.
    """
    skyline = [0] * words
    result = []
    for arc in sorted(arcs, key=lambda arc: (arc.right - arc.left, arc.left)):
        level = 1 + max(skyline[arc.left : arc.right])
        skyline[arc.left : arc.right] = [level] * (arc.right - arc.left)
        result.append(replace(arc, level=level))
    return result


@dataclass(frozen=True)
class Diagram(Picture):
    """A sentence with tags, arcs and probabilities; every column is empty or has one entry per word.

    Args:
        forms: The words.
        tags: The tag of each word.
        heads: The head of each word as in a CoNLL-U HEAD column: counted from 1, 0 is the root; -1 for no head.
            They may form cycles.
        relations: The label of the arc that enters each word.
        tag_probabilities: The probability of each tag, in [0, 1].
        head_probabilities: The probability of each arc, in [0, 1].
        title: The title, such as the number of the sentence; may be empty.

    Raises:
        ValueError: If a column has entries, but not one per word, a head or a probability is out of range, or a
            word heads itself.

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
            entries = len(getattr(self, name))
            if entries not in (0, expected):
                raise ValueError(f"{name} has {entries} entries; expected {expected}, one for each word, or none")
        for word, head in enumerate(self.heads, start=1):
            if not -1 <= head <= expected or head == word:
                raise ValueError(
                    f"heads has {head} for word {word}; expected another word from 1 to {expected}, 0 for the "
                    "root, or -1 for no head"
                )
        for name in ("tag_probabilities", "head_probabilities"):
            for value in getattr(self, name):
                require_probability(name, value)

    def arcs(self) -> list[Arc]:
        """Return the arcs between words, the shortest first, without those from the root.

        Complexity:
            O(n log n + sum of the lengths of the arcs).
        """
        probabilities: Sequence[float | None] = self.head_probabilities or [None] * len(self.forms)
        between = [
            Arc(head - 1, word, self.relation(word), 0, probabilities[word])
            for word, head in enumerate(self.heads)
            if head > 0
        ]
        return levelled(between, len(self.forms))

    def roots(self) -> list[int]:
        """Return the words whose head is the root, counted from 0."""
        return [word for word, head in enumerate(self.heads) if head == 0]

    def relation(self, word: int) -> str:
        """Return the label of the arc that enters a word, counted from 0; empty if unknown."""
        return self.relations[word] if self.relations else ""

    @property
    def heading(self) -> str:
        """The title, or the kind of picture if there is none."""
        return self.title or (
            "Dependency tree" if self.heads else "Words with tags" if self.tags else "Words"
        )

    def description(self) -> str:
        """Describe the words, tags and arcs in words, for screen readers."""
        names = made_distinct(self.forms)
        tags = ", ".join(
            f"{name} {tag}" for name, tag in zip(names, self._tags_with_numbers(), strict=False) if tag
        )
        arcs = ", ".join(
            self._described_head(word, names) for word, head in enumerate(self.heads) if head >= 0
        )
        return sentences(
            self.title, " ".join(self.forms), tags and f"Tags: {tags}", arcs and f"Heads: {arcs}"
        )

    def _tags_with_numbers(self) -> list[str]:
        """Return the tag of each word with its probability; empty if there are neither tags nor probabilities."""
        if not self.tag_probabilities:
            return list(self.tags)
        tags = self.tags or [""] * len(self.forms)
        return [
            with_number(tag, probability).strip()
            for tag, probability in zip(tags, self.tag_probabilities, strict=True)
        ]

    def _described_head(self, word: int, names: Sequence[str]) -> str:
        relation, head = self.relation(word), self.heads[word]
        if head:
            relation = f"{relation} of {names[head - 1]}" if relation else f"below {names[head - 1]}"
        probability = self.head_probabilities[word] if self.head_probabilities else None
        return with_number(f"{names[word]} {relation or 'root'}", probability)
