"""Partially annotated tags: those that words must not have."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.data.sentence import UNANNOTATED, Sentence
from strukt.errors import DataError


def forbidden_tags(sentence: Sentence) -> list[tuple[int, str]]:
    """Return the forbidden tags of a sentence: the index of the word, and the tag."""
    return [(part.place[0] - 1, part.label) for part in sentence.forbidden if part.kind == "tag"]


def require_possible(sentence: Sentence, tags: Sequence[str], labels: Sequence[str]) -> None:
    """Check that each word with forbidden tags may have another tag.

    Args:
        sentence: The sentence.
        tags: The tag of each word; `_` if it is unknown.
        labels: All tags.

    Raises:
        DataError: If a word may have no tag.
    """
    forbidden = set(forbidden_tags(sentence))
    for word in sorted({word for word, _ in forbidden}):
        left = [tags[word]] if tags[word] != UNANNOTATED else labels
        if all((word, tag) in forbidden for tag in left):
            message = f"word {word + 1} may have no tag, because all of its tags are forbidden; remove a comment"
            raise DataError(message, sentence.path, sentence.line)
