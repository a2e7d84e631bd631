"""Spans with codes, trained by contrastive hashing alone: the published model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from torch import Tensor

from strukt.data.vocabulary import Vocabulary
from strukt.losses import contrastive_hashing
from strukt.nn import AttentionHash
from strukt.nn.inputs import precise
from strukt.nn.spans import between_words
from strukt.tasks.common.spans.code_spans import CodeSpans
from strukt.tasks.common.spans.config import SpanTaskConfig
from strukt.tasks.common.spans.layer import GoldSpans


class PublishedCodes(CodeSpans):
    """A layer of spans with binary codes, trained by a single contrastive loss for trees and codes.

    A span is scored by a query and a key: those of its first and its last word. The layer has 2 K ceil(d / K) d
    parameters, for K bits and vectors of size d.

    Source: Wang and Utiyama (2024), "To be continuous, or to be discrete, those are bits of questions", section 3.

    Args:
        config: The configuration of the task.
        size: Size of the vectors of words.
        labels: The labels of spans in the training corpus.
    """

    trains_alone: ClassVar[bool] = True

    def __init__(self, config: SpanTaskConfig, size: int, labels: Vocabulary) -> None:
        super().__init__(config, labels)
        self.variant = config.variant
        self.hash = AttentionHash(size, config.bits)

    def start_from(self, vectors: Callable[[], Tensor]) -> None:
        self.hash.start_from(vectors())

    def scores(self, words: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG002
        """Return the score of each bit of each span (equation 11), ``(batch, n + 1, n + 1, bits)``."""
        return between_words(precise(self.hash(words)))

    def loss(self, views: Sequence[Tensor], gold: GoldSpans, lengths: Tensor) -> Tensor:
        """Return the contrastive loss of the spans of the gold tree in two views (equation 20).

        Similarities are joint probabilities of span and bit (equations 12 and 14), at temperature 1. If only some
        spans of a tree are known, such as entities, the others are sampled from the first view's distribution.
        """
        trees = [self.distribution(words, lengths) for words in views]
        spans = gold.among(self.agreeing(trees[0], gold, lengths).sample(), self.empty)
        first, second = (spans.at(view.bit_marginals) for view in trees)
        return contrastive_hashing(first, second, spans.labels, self.variant, temperature=1.0)
