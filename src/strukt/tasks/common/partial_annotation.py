"""Sentences of which people have annotated some words only: `_` in the column of a tag or head stands for any."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from strukt.data import conllu
from strukt.data.conllu.dependency_trees import is_projective, partial_tree_problems
from strukt.data.sentence import Sentence
from strukt.distributions import ProjectiveTree


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


def require_partial_tree(sentence: conllu.Sentence) -> conllu.Sentence:
    """Give the sentence back if there is a tree with one root that has all heads which are annotated.

    Raises:
        DataError: If there is none, or a word has a relation and no head; with the line of the word at fault.

    Examples:
        >>> sentence = conllu.from_forms(["It", "works", "well"]).annotated(head=["_", 0, "_"])
        >>> require_partial_tree(sentence) is sentence
        True
    """
    for problem in partial_tree_problems(sentence):
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
