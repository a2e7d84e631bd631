"""Partially annotated dependency trees: forbidden arcs, and forbidden relations of arcs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.nn.dependency_scorer import DependencyScores
from strukt.tasks.common.partial_annotation import agreeing_values, forbidden_parts, forbidden_targets

DENIED = "denied"
"""Prefix of the targets with the forbidden labels of arcs; see `forbidden_targets`."""


def forbidden_arcs(sentence: Sentence, known: Vocabulary, labels: Sequence[int]) -> dict[str, Tensor]:
    """Return the forbidden arcs of a sentence, and as `denied` the forbidden labels of arcs, as targets.

    Args:
        sentence: The sentence.
        known: The labels of the model.
        labels: The label of each word, as an index; -1 if it is unknown.
    """
    arcs = [part for part in sentence.forbidden if part.kind == "arc"]
    places = [(arc.place[0] - 1, arc.place[1]) for arc in arcs if not arc.label]
    denied = [
        (arc.place[0] - 1, arc.place[1], known.index(arc.label))
        for arc in arcs
        if arc.label in known and labels[arc.place[0] - 1] < 0  # a known label says more
    ]
    return forbidden_targets(places, 2) | forbidden_targets(denied, 3, DENIED)


def agreeing_arcs(
    scorer: DependencyScores, arcs: Tensor, vectors: Tensor, targets: dict[str, Tensor]
) -> Tensor:
    """Return scores of arcs with -inf for those that do not agree with partial annotation.

    Args:
        scorer: The scorer of labels.
        arcs: ``(batch, n, n + 1)``, the scores of arcs.
        vectors: ``(batch, n + 1, size)``, the vectors of the root and the words.
        targets: The known heads, and the targets of `forbidden_arcs`.
    """
    shape = (*arcs.shape, scorer.label_score.weight.shape[0])
    weights = label_weights(scorer, vectors, forbidden_parts(targets, shape, DENIED))
    agreeing = agreeing_values(targets["heads"], forbidden_parts(targets, arcs.shape))
    return (arcs + weights).masked_fill(~agreeing, -torch.inf)


def label_weights(scorer: DependencyScores, vectors: Tensor, denied: Tensor) -> Tensor:
    """Return the log-probability that each arc has one of its permitted labels; 0 if it may have any.

    Added to the scores of arcs, it conditions trees on labels.

    Args:
        scorer: The scorer of labels.
        vectors: ``(batch, n + 1, size)``, the vectors of the root and the words.
        denied: ``(batch, n, n + 1, labels)``, a mask of the labels that an arc must not have.

    Returns:
        ``(batch, n, n + 1)``.
    """
    pairs = denied.any(-1)
    weights = torch.zeros(pairs.shape, dtype=vectors.dtype, device=vectors.device)
    numbers = pairs.cumsum(-1) * pairs  # the constrained heads of a word are numbered from 1
    for number in range(1, int(numbers.max()) + 1 if numbers.numel() else 1):
        of_words, heads = (numbers == number).int().max(-1)
        logs = scorer.label_scores(vectors, heads).log_softmax(-1)
        permitted = logs.masked_fill(at_heads(heads, denied), -torch.inf).logsumexp(-1)
        values = torch.where(of_words.bool(), permitted, 0).to(weights.dtype)
        weights = weights.scatter_add(-1, heads.unsqueeze(-1), values.unsqueeze(-1))
    return weights


def at_heads(heads: Tensor, values: Tensor) -> Tensor:
    """Select the values at the head of each word, ``(batch, n, c)``, from ``(batch, n, n + 1, c)``.

    Negative heads, of words in the padding or without a known head, count as the root.
    """
    index = heads.clamp(min=0)[..., None, None].expand(-1, -1, 1, values.shape[-1])
    return values.gather(2, index).squeeze(2)
