"""Sentences of which people have annotated some words only: `_` in the column of a tag or head stands for any."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from strukt.data import conllu
from strukt.data.check.tags import line_of
from strukt.data.conllu.dependency_trees import is_projective
from strukt.data.files.problems import Problem
from strukt.data.partial_annotation import UNANNOTATED, tree_problems
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.distributions import ProjectiveTree
from strukt.nn import Constraints


def with_annotation(sentences: Sequence[Sentence], annotated: Sequence[bool]) -> list[Sentence]:
    """Leave out the sentences of which no word is annotated; a warning counts them.

    Args:
        sentences: The sentences.
        annotated: Of each, whether some word is.
    """
    kept = [sentence for sentence, some in zip(sentences, annotated, strict=True) if some]
    if len(kept) < len(sentences):
        warnings.warn(
            f"{len(sentences) - len(kept)} of {len(sentences)} sentences have no annotated word "
            "and are left out of the training",
            stacklevel=2,
        )
    return kept


def require_possible_tags(
    sentence: Sentence, tags: Sequence[str], labels: Vocabulary, rules: Constraints
) -> None:
    """Check that the words without a tag can have some with which the sentence keeps to the rules.

    Args:
        sentence: For the message.
        tags: Of its words; `UNANNOTATED` for those without.
        labels: All tags.
        rules: Which of them may follow each other.

    Raises:
        DataError: If they cannot; with the line of the word at which no way goes on.

    Complexity: O(n c^2) for n words and c labels.
    """
    before, possible = "the beginning", rules.start
    for position, tag in enumerate(tags):
        if position:
            possible = rules.transition[possible].any(0)
        if tag != UNANNOTATED:
            possible = possible & (torch.arange(len(labels)) == labels.index(tag))
            if not possible.any():
                raise _no_way(sentence, position, f"{tag} cannot stand behind {before}").error()
            before = f"{tag} of word {position + 1}"
    if tags and not (possible & rules.end).any():
        raise _no_way(sentence, len(tags) - 1, f"the sentence cannot end behind {before}").error()


def require_partial_tree(sentence: conllu.Sentence) -> conllu.Sentence:
    """Give the sentence back if there is a tree with one root that has all heads which are annotated.

    Raises:
        DataError: If there is none, or a word has a relation and no head; with the line of the word at fault.

    Examples:
        >>> sentence = conllu.from_forms(["It", "works", "well"]).annotated(head=["_", 0, "_"])
        >>> require_partial_tree(sentence) is sentence
        True
    """
    for problem in tree_problems(sentence):
        raise problem.error()
    return sentence


def may_be_projective(heads: Sequence[int | None]) -> bool:
    """Tell if some projective tree with one root has these heads; None stands for any.

    Complexity: O(n log n) if all heads are known, O(n^3) otherwise.

    Examples:
        >>> may_be_projective([2, 0, 2]), may_be_projective([None, None, 2]), may_be_projective([3, None, 2])
        (True, True, False)
    """
    known = [head for head in heads if head is not None]
    if len(known) == len(heads):
        return is_projective(known)
    event = torch.tensor([-1 if head is None else head for head in heads])
    trees = ProjectiveTree(torch.zeros(len(heads), len(heads) + 1))
    return bool(trees.partial_log_prob(event, event >= 0) > -torch.inf)


def _no_way(sentence: Sentence, position: int, message: str) -> Problem:
    remedy = "correct a tag, leave out another one, or choose other --constraints"
    whatever = f"{message}, whatever the words without a tag are"
    return Problem("span", whatever, remedy, sentence.path, line_of(sentence, position))
