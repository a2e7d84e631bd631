"""A sequence of words over the tags that each may have, and the ways from tag to tag."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from strukt.errors import OutOfRangeError
from strukt.shown import Shown

LEAST = 0.01
"""Tags and steps of less probability are not drawn."""


class Step(NamedTuple):
    """From the tag of a word to that of the next one; words and tags are counted from 0."""

    word: int
    before: int
    after: int
    probability: float


@dataclass(frozen=True)
class Lattice(Shown):
    """How probable each tag is at each word, and each step from tag to tag.

    Args:
        forms: The n words.
        tags: The names of the c tags.
        marginals: Of the tags of each word, n rows of c.
        transitions: Of the steps behind each word but the last, n - 1 tables of c rows of c.
        title: What it is of; may be empty.

    Raises:
        ValueError: If there is not one probability for each tag and step.

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
            raise ValueError(f"marginals: expected {n} rows of {c}, one for each word, of one for each tag")
        tables = self.transitions
        if len(tables) != max(n - 1, 0) or any(
            len(table) != c or any(len(row) != c for row in table) for table in tables
        ):
            raise ValueError(f"transitions: expected {max(n - 1, 0)} tables of {c} rows of {c}")
        every = [value for row in self.marginals for value in row]
        every += [value for table in tables for row in table for value in row]
        if not all(math.isfinite(value) and -1e-6 <= value <= 1 + 1e-4 for value in every):
            raise OutOfRangeError("marginals and transitions: expected probabilities, between 0 and 1")

    def used(self) -> list[int]:
        """The tags that some word may well have, in their order."""
        return [tag for tag in range(len(self.tags)) if any(row[tag] >= LEAST for row in self.marginals)]

    def steps(self) -> list[Step]:
        """The steps that are not too improbable."""
        return [
            Step(word, before, after, probability)
            for word, table in enumerate(self.transitions)
            for before, row in enumerate(table)
            for after, probability in enumerate(row)
            if probability >= LEAST
        ]

    @property
    def heading(self) -> str:
        """The title; what kind of picture it is, if it has none."""
        return self.title or "Lattice of tags"

    def description(self) -> str:
        """The tags in words, for those who do not see them."""
        said = []
        for form, row in zip(self.forms, self.marginals, strict=True):
            order = sorted(self.used(), key=lambda tag: -row[tag])
            named = ", ".join(f"{self.tags[tag]} {row[tag]:.2f}" for tag in order if row[tag] >= LEAST)
            said.append(f"{form}: {named}")
        return "; ".join([*([self.title] if self.title else []), *said])
