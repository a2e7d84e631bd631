"""Partially annotated sentences: parts of their structures are known or forbidden, and the rest is unknown.

The loss of a partially annotated sentence is the negative log-probability of all structures that agree with its
annotation: the log-partition of all structures minus that of the agreeing structures.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.data import conllu
from strukt.data.conllu.dependency_trees import is_projective, partial_tree_problems
from strukt.data.sentence import Sentence
from strukt.distributions import NonProjectiveTree, ProjectiveTree
from strukt.errors import DataError
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.sentences import trainable_sentences

FORBIDDEN = "forbidden"
"""Prefix of the targets with the indices of forbidden parts: `forbidden0`, `forbidden1` ..., one for each axis."""


def forbidden_targets(indices: Sequence[tuple[int, ...]], axes: int, name: str = FORBIDDEN) -> dict[str, Tensor]:
    """Return the indices of forbidden parts of a sentence as targets, one vector for each axis of the scores.

    Args:
        indices: The index of each forbidden part in the scores of the sentence.
        axes: Number of axes of these scores.
        name: Prefix of the names of the targets.

    Examples:
        >>> forbidden_targets([(0, 3), (2, 1)], 2)
        {'forbidden0': tensor([0, 2]), 'forbidden1': tensor([3, 1])}
    """
    columns = torch.tensor(indices, dtype=torch.long).reshape(-1, axes).unbind(-1)
    return {f"{name}{axis}": column for axis, column in enumerate(columns)}


def forbidden_parts(targets: dict[str, Tensor], shape: Sequence[int], name: str = FORBIDDEN) -> Tensor:
    """Return a mask of the forbidden parts of a batch, in the shape of the scores.

    Args:
        targets: The targets from `forbidden_targets`, in batches ``(batch, parts)`` padded with -1.
        shape: The shape of the scores, ``(batch, ...)``.
        name: Prefix of the names of the targets.
    """
    columns = [targets[f"{name}{axis}"] for axis in range(len(shape) - 1)]
    items, places = (columns[0] >= 0).nonzero(as_tuple=True)
    mask = torch.zeros(tuple(shape), dtype=torch.bool, device=items.device)
    mask[(items, *(column[items, places] for column in columns))] = True
    return mask


def agreeing_values(known: Tensor, forbidden: Tensor) -> Tensor:
    """Return a mask of the values that words may have, ``(batch, n, values)``.

    Args:
        known: ``(batch, n)``, the value of each word; -1 if it is unknown.
        forbidden: ``(batch, n, values)``, a mask of the values that a word does not have.

    Examples:
        >>> forbidden = torch.tensor([[[True, False, False], [False, False, False]]])
        >>> agreeing_values(torch.tensor([[-1, 2]]), forbidden)
        tensor([[[False,  True,  True],
                 [False, False,  True]]])
    """
    is_value = torch.arange(forbidden.shape[-1], device=known.device) == known.unsqueeze(-1)
    return ((known < 0).unsqueeze(-1) | is_value) & ~forbidden


def losses_of_sets(all_structures: StructuredDistribution, agreeing: StructuredDistribution) -> Tensor:
    """Return the negative log-probability of the structures that agree with an annotation, ``(batch,)``.

    Source: Tsuboi et al. (2008), "Training conditional random fields using incomplete annotations".

    Args:
        all_structures: The distribution over all structures.
        agreeing: The distribution over the structures that agree.
    """
    losses: Tensor = all_structures.log_partition - agreeing.log_partition
    return losses


def cross_entropies_of_sets(scores: Tensor, agreeing: Tensor) -> Tensor:
    """Return the sum over words of the negative log-probability of their agreeing values, ``(batch,)``.

    Args:
        scores: ``(batch, n, values)``, the score of each value of each word.
        agreeing: These scores, with -inf for values that do not agree.
    """
    return (scores.logsumexp(-1) - agreeing.logsumexp(-1)).sum(-1)


def with_annotation(sentences: Sequence[Sentence], annotated: Sequence[bool]) -> list[Sentence]:
    """Return the sentences with any annotation; a warning counts the others.

    Args:
        sentences: Sentences of the training corpus.
        annotated: For each sentence, whether anything of it is annotated.
    """
    return trainable_sentences(sentences, annotated, "sentences have no annotation")


def require_partial_tree(sentence: conllu.Sentence) -> conllu.Sentence:
    """Return the sentence, after checking that some tree with one root has all annotated and no forbidden arcs.

    Raises:
        DataError: If there is no such tree, or a word has a relation but no head. The error names the line of the
            word, if one is at fault.

    Examples:
        >>> sentence = conllu.from_forms(["It", "works", "well"]).annotated(head=["_", 0, "_"])
        >>> require_partial_tree(sentence) is sentence
        True
    """
    for problem in partial_tree_problems(sentence):
        raise problem.error()
    arcs = [part for part in sentence.forbidden if part.kind == "arc"]
    if arcs and not _may_be_tree(NonProjectiveTree, sentence):
        raise DataError(
            "no tree has the annotated heads and none of the forbidden arcs; remove a comment",
            sentence.path,
            sentence.line,
        )
    for part in arcs:
        word = sentence.words[part.place[0] - 1]
        if part.label and (word.head, word.deprel) == (part.place[1], part.label):
            message = f"the relation {part.label!r} of word {word.id} is annotated and forbidden; remove one"
            raise DataError(message, sentence.path, word.line)
    return sentence


def may_be_projective(sentence: conllu.Sentence) -> bool:
    """Return whether some projective tree with one root has the annotated heads and none of the forbidden arcs.

    Complexity: O(n log n) if all heads are known, O(n^3) otherwise.

    Examples:
        >>> sentence = conllu.from_forms(["It", "works", "well"])
        >>> some = ([2, 0, 2], ["_", "_", 2], [3, "_", 2])
        >>> [may_be_projective(sentence.annotated(head=heads)) for heads in some]
        [True, True, False]
    """
    known = [word.head for word in sentence.words if word.head is not None]
    if len(known) == len(sentence):
        return is_projective(known)
    return _may_be_tree(ProjectiveTree, sentence)


def _may_be_tree(
    structure: type[NonProjectiveTree] | type[ProjectiveTree], sentence: conllu.Sentence
) -> bool:
    """Return whether some tree with one root has all annotated heads and no forbidden arc."""
    known = torch.tensor([[-1 if word.head is None else word.head for word in sentence.words]])
    arcs = torch.zeros(1, len(sentence), len(sentence) + 1, dtype=torch.bool)
    for part in sentence.forbidden:
        if part.kind == "arc" and not part.label:
            word, head = part.place
            arcs[0, word - 1, head] = True
    trees = structure(torch.zeros(arcs.shape), labelled=False).condition(forbidden=~agreeing_values(known, arcs))
    return bool(trees.log_partition > -torch.inf)
