"""Partially annotated sentences: `_` in the column of a tag or a head stands for any value."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from strukt.data import conllu
from strukt.data.conllu.dependency_trees import is_projective, partial_tree_problems
from strukt.data.sentence import Sentence
from strukt.distributions import ProjectiveTree


def with_annotation(sentences: Sequence[Sentence], annotated: Sequence[bool]) -> list[Sentence]:
    """Return the sentences with at least one annotated word; a warning counts the others.

    Args:
        sentences: Sentences of the training corpus.
        annotated: For each sentence, whether any word of it is annotated.
    """
    kept = [sentence for sentence, is_annotated in zip(sentences, annotated, strict=True) if is_annotated]
    if len(kept) < len(sentences):
        warnings.warn(
            f"{len(sentences) - len(kept)} of {len(sentences)} sentences have no annotated word "
            "and are left out of the training",
            stacklevel=2,
        )
    return kept


def require_partial_tree(sentence: conllu.Sentence) -> conllu.Sentence:
    """Return the sentence, after checking that some tree with one root contains all annotated heads.

    Raises:
        DataError: If no tree contains them, or a word has a relation but no head. The error names the line of the
            word.

    Examples:
        >>> sentence = conllu.from_forms(["It", "works", "well"]).annotated(head=["_", 0, "_"])
        >>> require_partial_tree(sentence) is sentence
        True
    """
    for problem in partial_tree_problems(sentence):
        raise problem.error()
    return sentence


def may_be_projective(heads: Sequence[int | None]) -> bool:
    """Return whether some projective tree with one root contains these heads; None stands for any head.

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
