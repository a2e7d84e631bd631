"""Sentences in which some words have no tags: checks whether some choice of the missing tags fits a scheme."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from strukt.data.sentence import UNANNOTATED
from strukt.data.tag_schemes.bio_schemes import OUTSIDE, Scheme

OTHER = "other"
"""A span type that no annotated word has."""


def partial_sequence_faults(
    tags: Sequence[str], scheme: Scheme, labels: Sequence[str] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the first position at which tags break a scheme, whatever the missing tags are; nothing if they fit.

    Args:
        tags: The tags of a sentence; `UNANNOTATED` if one is missing.
        scheme: The scheme of the tags.
        labels: The tags from which missing tags may be chosen; if None, those of the scheme, with any type.

    Yields:
        The position of a word, counted from 0, and a message.

    Complexity: O(n c^2) for n words and c tags to choose from.

    Examples:
        >>> from strukt.data.tag_schemes import scheme_of
        >>> list(partial_sequence_faults(["B-LOC", "_", "I-LOC", "_", "_", "I-PER"], scheme_of("BIO")))
        []
        >>> list(partial_sequence_faults(["O", "_", "E-LOC"], scheme_of("BIOES")))
        []
        >>> list(partial_sequence_faults(["O", "E-LOC", "_"], scheme_of("BIOES")))
        [(1, 'E-LOC cannot follow O of word 1, whatever the tags of the other words are')]
    """
    choices = frozenset(_choices(tags, scheme) if labels is None else labels)
    others = {tag for tag in tags if tag not in choices and tag != UNANNOTATED and scheme.has(tag)}
    followers = _followers(scheme, choices | others)
    possible, last = frozenset({OUTSIDE}), "the beginning"  # a sentence may begin with a tag that may follow O
    for position, tag in enumerate(tags):
        possible = frozenset[str]().union(*(followers[before] for before in possible))
        if tag == UNANNOTATED:
            possible &= choices
            continue
        if not scheme.has(tag):
            yield position, f"{tag!r} is not a tag of {scheme.name}; expected {scheme.expected}"
            return
        possible &= {tag}
        if not possible:
            yield position, f"{tag} cannot follow {last}, whatever the tags of the other words are"
            return
        last = f"{tag} of word {position + 1}"
    if tags and not any(map(scheme.ends, possible)):
        yield len(tags) - 1, f"the sentence cannot end after {last}, whatever the tags of the other words are"


def _choices(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """Return the tags of a scheme with each type of the sentence, and with one type that it does not have."""
    kinds = {tag.partition("-")[2] for tag in tags if tag not in (OUTSIDE, UNANNOTATED)} | {OTHER}
    return [OUTSIDE, *(f"{mark}-{kind}" if kind else mark for kind in sorted(kinds) for mark in scheme.marks)]


@lru_cache(maxsize=64)
def _followers(scheme: Scheme, labels: frozenset[str]) -> Mapping[str, frozenset[str]]:
    """Return the labels that may follow each label, and those that may follow `OUTSIDE`."""
    return {
        before: frozenset(label for label in labels if scheme.follows(before, label))
        for before in (OUTSIDE, *labels)
    }
