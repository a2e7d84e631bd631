"""The predicted tags of a sentence, which encode its logical form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from strukt.data.logical_forms import NONE, Tags
from strukt.data.sentence import Sentence
from strukt.viz import Diagram


@dataclass(frozen=True)
class TagsPrediction:
    """The predicted tags of a sentence, five for each word.

    Attributes:
        tags: The predicted columns, one for each kind of tag.
        probabilities: For each word, the product of the probabilities of its tags; empty if not requested.
        shares: No additional scores; see `Prediction`.
    """

    tags: Tags
    probabilities: Sequence[float] = ()
    shares: ClassVar[Mapping[str, tuple[int, int]]] = MappingProxyType({})

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with the logical form that the tags encode."""
        return sentence.annotated(**self.tags._asdict())

    def diagram(self, sentence: Sentence) -> Diagram:
        """Draw words with arcs from their parents, labelled by roles, and all other tags below them."""
        below = zip(self.tags.category, self.tags.determiner, self.tags.verb, strict=True)
        return Diagram(
            forms=sentence.forms,
            tags=[" ".join(tag for tag in of_word if tag != NONE) for of_word in below],
            heads=[_head(head, tag) for head, tag in zip(self.tags.heads, self.tags.category, strict=True)],
            relations=["" if role == NONE else role for role in self.tags.role],
            head_probabilities=self.probabilities,
        )


def _head(head: int | None, category: str) -> int:
    """Return the head to draw, from 1; without a parent, 0 (the root) if the word has a category, else -1."""
    if head is not None:
        return head + 1
    return -1 if category == NONE else 0
