"""Heads that predict a tree for each sentence: a dependency tree, or a tree of labelled spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from strukt.distributions import NonProjectiveTree, ProjectiveTree, SpanTree
from strukt.hf.configuration import StructuredHeadConfig
from strukt.hf.heads import Head, HeadOutput, negative_log_likelihood
from strukt.hf.words import IGNORED, WordPlaces
from strukt.nn import SharedDropout
from strukt.nn.dependency_scorer import DependencyScorer, reserve_root
from strukt.nn.inputs import precise
from strukt.nn.spans import SpanScorer, fenceposts
from strukt.structures.binary_tree import crossed
from strukt.tasks.common.spans.label_spans import CRITERIA, agreeing
from strukt.tasks.common.spans.layer import GoldSpans
from strukt.tasks.dependency.model import TREES


class BiaffineHead(Head):
    """A head that predicts single-rooted dependency trees, with a label for each arc.

    Labels and predictions are pairs at the first piece of each word: its head, as the index of a word counted from
    1, or 0 for the root; and the label index of the arc. They are -100 at other pieces. The `logits` are the
    scores of arcs, `(batch, n, n + 1)`, to each of n words from the root or a word.

    Source: Dozat and Manning (2017), "Deep biaffine attention for neural dependency parsing".

    Args:
        config: The configuration of the model.
        size: Size of the word vectors.
    """

    axes: ClassVar[str] = "(batch, pieces, 2)"

    def __init__(self, config: StructuredHeadConfig, size: int) -> None:
        super().__init__()
        self.labels = config.labels
        self.dropout = SharedDropout(config.dropout)
        self.scorer = DependencyScorer(
            size, config.num_labels, config.arc_size, config.label_size, config.dropout
        )
        self.trees = TREES[config.trees]

    def distribution(self, vectors: Tensor, lengths: Tensor) -> NonProjectiveTree | ProjectiveTree:
        return self.trees(self.scorer.arc_scores(self._with_root(vectors)), lengths)

    def loss(self, views: Sequence[Tensor], places: WordPlaces, labels: Tensor) -> Tensor:
        heads, relations = places.gather(labels, IGNORED).unbind(-1)
        known = heads >= 0
        relations = relations.masked_fill(~known | (relations < 0), IGNORED)
        _require_labels(relations, len(self.labels))
        vectors = self._with_root(views[0])
        trees = self.trees(self.scorer.arc_scores(vectors), places.lengths)
        of_arcs = negative_log_likelihood(trees, heads, known).sum()
        of_labels = functional.cross_entropy(
            self.scorer.label_scores(vectors, heads).flatten(0, 1),
            relations.flatten(),
            ignore_index=IGNORED,
            reduction="sum",
        )
        return (of_arcs + of_labels) / known.sum().clamp(min=1)

    def predict(self, vectors: Tensor, places: WordPlaces) -> HeadOutput:
        vectors = self._with_root(vectors)
        arcs = self.scorer.arc_scores(vectors)
        heads = self.trees(arcs, places.lengths).mode
        relations = reserve_root(self.scorer.label_scores(vectors, heads), heads, self.labels).argmax(-1)
        pairs = torch.stack([heads, relations], -1)
        return HeadOutput(arcs, places.scatter(pairs, IGNORED))

    def _with_root(self, vectors: Tensor) -> Tensor:
        """Return the vectors after dropout, with that of the root in front: `(batch, n + 1, size)`."""
        dropped: Tensor = self.dropout(self.scorer.with_root(vectors))
        return dropped


class SpanHead(Head):
    """A head that predicts binary trees of labelled spans, for nested entities or constituents.

    Labels and predictions are triples, `(batch, spans, 3)`: first word, word after the last, and label, outer
    spans before inner spans, padded with -100. The other spans of a tree are latent: the likelihood is the sum
    over all trees that contain the given spans. Latent spans have the empty label, an extra label with index 0 in
    the scores. The `logits` are the scores of spans, `(batch, n + 1, n + 1, labels + 1)`, for sentences of up to n
    words; `[i, j]` is the span of the words i to j - 1.

    Source: Fu et al. (2021), "Nested named entity recognition with partially-observed TreeCRFs"; the scores of
    Zhang, Zhou and Li (2020), "Fast and accurate neural CRF constituency parsing".

    Args:
        config: The configuration of the model.
        size: Size of the word vectors.
    """

    axes: ClassVar[str] = "(batch, spans, 3)"

    def __init__(self, config: StructuredHeadConfig, size: int) -> None:
        super().__init__()
        self.label_count = config.num_labels
        self.dropout = SharedDropout(config.dropout)
        self.scorer = SpanScorer(
            size, config.num_labels + 1, config.span_size, config.label_size, config.dropout
        )

    def distribution(self, vectors: Tensor, lengths: Tensor) -> SpanTree:
        return SpanTree(precise(self.scorer(fenceposts(self.dropout(vectors)))), lengths)

    def loss(self, views: Sequence[Tensor], places: WordPlaces, labels: Tensor) -> Tensor:
        trees = self.distribution(views[0], places.lengths)
        gold = _gold(labels, places.lengths, self.label_count)
        allowed = agreeing(gold, trees.scores[0], empty=0)
        return CRITERIA["likelihood"](trees, allowed).sum() / places.lengths.sum().clamp(min=1)

    def predict(self, vectors: Tensor, places: WordPlaces) -> HeadOutput:
        trees = self.distribution(vectors, places.lengths)
        return HeadOutput(trees.scores[0], labelled_spans(trees.mode))


def labelled_spans(events: Tensor) -> Tensor:
    """List the spans of trees from left to right, outer before inner ones, except those with the empty label 0.

    Args:
        events: `(batch, n + 1, n + 1)`, events of `SpanTree`.

    Returns:
        `(batch, spans, 3)`: start, end and label minus 1; -100 after the last span.

    Examples:
        >>> event = torch.full((1, 3, 3), -1)
        >>> event[0, 0, 2], event[0, 0, 1], event[0, 1, 2] = 4, 0, 1
        >>> labelled_spans(event)
        tensor([[[0, 2, 3],
                 [1, 2, 0]]])
    """
    items, starts, flipped = (events.flip(-1) > 0).nonzero(as_tuple=True)
    ends = events.shape[-1] - 1 - flipped
    counts = torch.bincount(items, minlength=len(events))
    rank = torch.arange(len(items), device=items.device) - (counts.cumsum(0) - counts)[items]
    longest = int(counts.max()) if len(counts) else 0
    listed = events.new_full((len(events), longest, 3), IGNORED)
    listed[items, rank] = torch.stack([starts, ends, events[items, starts, ends] - 1], -1)
    return listed


def _gold(labels: Tensor, lengths: Tensor, label_count: int) -> GoldSpans:
    """Return the known spans of a batch, with labels counted from 1, because 0 is the empty label.

    Raises:
        ValueError: If a span is outside its sentence, has an invalid label, or crosses or repeats another span.
    """
    items, places = (labels[..., 0] >= 0).nonzero(as_tuple=True)
    starts, ends, numbers = labels[items, places].unbind(-1)
    gold = GoldSpans(items, starts, ends, numbers + 1)

    def refuse(wrong: Tensor, fault: Callable[[int], str]) -> None:
        """Raise ValueError for the first span that `wrong` marks; `fault` returns the end of the message."""
        if bool(wrong.any()):
            first = int(wrong.nonzero()[0, 0])
            item, start, end = (int(part[first]) for part in (items, starts, ends))
            raise ValueError(f"labels has the span from {start} to {end} in batch item {item}{fault(first)}")

    refuse(
        (ends <= starts) | (ends > lengths[items]),
        lambda span: f" of {int(lengths[items[span]])} words; expected 0 <= start < end <= words",
    )
    refuse(
        (numbers < 0) | (numbers >= label_count),
        lambda span: f" with the label {int(numbers[span])}; expected 0 to {label_count - 1}",
    )
    size = int(lengths.max()) + 1 if len(lengths) else 1
    uses = torch.zeros(len(labels), size, size, dtype=torch.long, device=labels.device)
    uses.index_put_((items, starts, ends), torch.ones_like(items), accumulate=True)
    refuse(
        gold.at(crossed(uses > 0) | (uses > 1)),
        lambda _: ", which crosses or repeats another; expected spans that nest or are apart",
    )
    return gold


def _require_labels(relations: Tensor, label_count: int) -> None:
    """Raise ValueError if the label of an arc, `(batch, n)`, is not less than `label_count`."""
    wrong = (relations >= label_count).nonzero()
    if len(wrong):
        item, word = wrong[0].tolist()
        raise ValueError(
            f"labels has the label {int(relations[item, word])} for the arc to word {word + 1} in batch item "
            f"{item}; expected 0 to {label_count - 1}"
        )
