"""Spans with a score for each label, trained by the likelihood of trees or with a margin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from strukt.data.vocabulary import Vocabulary
from strukt.distributions import SpanTree
from strukt.losses import fenchel_young_loss
from strukt.nn.spans import SpanScorer, fenceposts
from strukt.structures.binary_tree import crossed
from strukt.tasks.common.partial_annotation import forbidden_parts, losses_of_sets
from strukt.tasks.common.scores import not_nan
from strukt.tasks.common.spans.config import SpanTaskConfig
from strukt.tasks.common.spans.layer import GoldSpans, SpanLayer, spans_of
from strukt.tasks.common.spans.prediction import PredictedSpan


class LabelSpans(SpanLayer):
    """Biaffine scores of labelled spans, and a distribution over labelled binary trees.

    Some spans of a tree are known, with their labels; the others may be any spans, with the empty label. The
    likelihood is that of all trees that contain the known spans (Fu et al. 2021, "Nested named entity recognition
    with partially-observed TreeCRFs").

    Args:
        config: The configuration of the task.
        size: Size of the vectors of words.
        labels: The labels of spans in the training corpus.
    """

    def __init__(self, config: SpanTaskConfig, size: int, labels: Vocabulary) -> None:
        super().__init__(labels)
        self.criterion = CRITERIA[config.criterion]
        self.scorer = SpanScorer(
            size, len(labels), config.span_size, config.label_size, config.encoder.outer_dropout
        )

    def scores(self, words: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG002
        """Return the score of each label of each span, ``(batch, n + 1, n + 1, labels)``."""
        scores: Tensor = self.scorer(fenceposts(words))
        return scores.float()

    def distribution(self, words: Tensor, lengths: Tensor) -> SpanTree:
        return SpanTree(self.scores(words, lengths), lengths, labelled=True, validate_args=False)

    def loss(self, views: Sequence[Tensor], gold: GoldSpans, lengths: Tensor) -> Tensor:
        """Return the mean loss per word: for criterion margin, with a cost of 1 for each wrong span."""
        (words,) = views
        trees = self.distribution(words, lengths)
        return self.criterion(trees, agreeing(gold, trees.scores[0], self.empty)).sum() / lengths.sum()

    def best_spans(
        self, words: Tensor, lengths: Tensor, probabilities: bool = False
    ) -> Iterator[list[PredictedSpan]]:
        trees = self.distribution(words, lengths)
        marginals = not_nan(trees.marginals) if probabilities else None
        symbols = self.labels.symbols
        for item, event in enumerate(trees.mode):
            yield [
                PredictedSpan(
                    i, j, symbols[k], None if marginals is None else marginals[item, i, j, k].item()
                )
                for i, j, k in spans_of(event)
            ]


def agreeing(gold: GoldSpans, spans: Tensor, empty: int) -> Tensor:
    """Return a mask of the labelled spans that a tree with the known spans may have.

    Known spans may have their own labels only, spans that cross them none, and other spans the empty label. In
    partially annotated sentences, other spans may have any label that is not forbidden.

    Args:
        gold: The known spans.
        spans: The scores of labelled spans, ``(batch, n + 1, n + 1, labels)``; only their shape and device matter.
        empty: The index of the empty label.

    Returns:
        Booleans in the shape of ``spans``.
    """
    used = gold.used(*spans.shape[:2])
    free = ~(used | crossed(used))
    allowed = torch.zeros(spans.shape, dtype=torch.bool, device=spans.device)
    allowed[..., empty] = free
    if gold.partial is not None:
        allowed |= (free & gold.partial[:, None, None]).unsqueeze(-1)
        allowed &= ~forbidden_parts(gold.forbidden, spans.shape)
    allowed[gold.items, gold.starts, gold.ends, gold.labels] = True
    return allowed


def _likelihood(trees: SpanTree, allowed: Tensor) -> Tensor:
    """Return the negative log-probability of the allowed trees, ``(batch,)``."""
    return losses_of_sets(trees, trees.condition(forbidden=~allowed))


def _margin(trees: SpanTree, allowed: Tensor) -> Tensor:
    """Return the structured hinge loss against the best allowed tree, ``(batch,)``; a wrong span costs 1."""
    best = trees.condition(forbidden=~allowed).mode
    return fenchel_young_loss(trees, best, regularizer=None, cost=(~allowed).to(trees.scores[0].dtype))


CRITERIA: dict[str, Callable[[SpanTree, Tensor], Tensor]] = {"likelihood": _likelihood, "margin": _margin}
"""The loss of trees by criterion, from a mask of the allowed labelled spans."""
