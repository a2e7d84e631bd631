"""Problems of partially annotated sentences: `_` as a tag or head means any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strukt.data import conllu
from strukt.data.conllu.sentences import cycle_problems, root_problems
from strukt.data.files.problems import Problem
from strukt.data.tag_schemes import OUTSIDE, Scheme

UNANNOTATED = "_"
"""Tag, head or relation of a word that is not annotated."""

OTHER = "other"
"""A span type that no annotated word has."""


def tree_problems(sentence: conllu.Sentence) -> Iterator[Problem]:
    """Yield the reasons why no single-rooted tree has the annotated heads.

    Examples:
        >>> sentence = conllu.from_forms(["It", "works", "well"]).annotated(head=[2, 1, "_"])
        >>> [problem.message for problem in tree_problems(sentence)]
        ['the heads run in a circle: 1 -> 2 -> 1']
    """
    if not sentence.words:
        yield conllu.no_words(sentence)
        return
    for word in sentence.words:
        if word.head is None and word.deprel != UNANNOTATED:
            message = f"word {word.id}, {word.form!r}, has a relation and no head"
            yield Problem(
                "head", message, "fill in the column HEAD, or write _ in both", sentence.path, word.line
            )
    yield from root_problems(sentence)
    yield from cycle_problems(sentence, [word.head or 0 for word in sentence.words])


def sequence_faults(tags: Sequence[str], scheme: Scheme) -> Iterator[tuple[int, str]]:
    """Yield the words at which tags break a scheme for every choice of the missing tags.

    Args:
        tags: The tags of a sentence; `UNANNOTATED` if one is missing.
        scheme: The scheme of the tags.

    Yields:
        The position of a word, counted from 0, and a message.

    Complexity: O(n c^2) for n words and tags of c marks and types.

    Examples:
        >>> from strukt.data.tag_schemes import scheme_of
        >>> list(sequence_faults(["B-LOC", "_", "I-LOC", "_", "_", "I-PER"], scheme_of("BIO")))
        []
        >>> list(sequence_faults(["O", "_", "E-LOC"], scheme_of("BIOES")))
        []
        >>> list(sequence_faults(["O", "E-LOC", "_"], scheme_of("BIOES")))
        [(1, 'E-LOC cannot stand behind O, whatever the words without a tag are')]
    """
    known = [tag for tag in tags if tag != UNANNOTATED]
    kinds = {tag.partition("-")[2] for tag in known if tag != OUTSIDE} | {OTHER}
    every = [OUTSIDE, *(f"{mark}-{kind}" if kind else mark for kind in sorted(kinds) for mark in scheme.marks)]
    possible, last = [OUTSIDE], "the beginning"
    for position, tag in enumerate(tags):
        if tag != UNANNOTATED and not scheme.has(tag):
            yield position, f"{tag!r} is no tag of {scheme.name}; expected {scheme.expected}"
            return
        choices = every if tag == UNANNOTATED else [tag]
        possible = [each for each in choices if any(scheme.follows(before, each) for before in possible)]
        if not possible:
            yield position, f"{tag} cannot stand behind {last}, whatever the words without a tag are"
            return
        last = last if tag == UNANNOTATED else tag
    if tags and not any(map(scheme.ends, possible)):
        yield len(tags) - 1, f"the sentence cannot end behind {last}, whatever the words without a tag are"
