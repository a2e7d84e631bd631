"""The base class of all heads: a distribution over structures from word vectors, its loss and predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from strukt.hf.words import WordPlaces
from strukt.nn.encoders import mask_of
from strukt.structures.distribution import StructuredDistribution


class HeadOutput(NamedTuple):
    """The output of a head for a batch.

    Attributes:
        logits: Scores, whose meaning depends on the head.
        predictions: The best structures, in the format of the labels.
        codes: `(batch, pieces)` binary codes of words, -100 elsewhere; None if the head has none.
    """

    logits: Tensor
    predictions: Tensor
    codes: Tensor | None = None


class Head(nn.Module, ABC):
    """Base class for a distribution over structures on top of an encoder.

    Attributes:
        views: Number of passes through the encoder per loss, with different dropout.
        axes: The shape of the labels, for messages.
    """

    views: ClassVar[int] = 1
    axes: ClassVar[str] = "(batch, pieces)"

    @abstractmethod
    def distribution(self, vectors: Tensor, lengths: Tensor) -> StructuredDistribution:
        """Return the distribution over the structures of each sentence.

        Args:
            vectors: `(batch, n, size)` word vectors, zero in the padding.
            lengths: `(batch,)`.
        """

    @abstractmethod
    def loss(self, views: Sequence[Tensor], places: WordPlaces, labels: Tensor) -> Tensor:
        """Return the mean loss per word, a scalar.

        Args:
            views: As many word vectors `(batch, n, size)` as `Head.views` says.
            places: Positions of the words.
            labels: Labels in the shape of `axes`; -100 if unknown.
        """

    @abstractmethod
    def predict(self, vectors: Tensor, places: WordPlaces) -> HeadOutput:
        """Return the scores and the best structures.

        Args:
            vectors: `(batch, n, size)`.
            places: Positions of the words.
        """


def negative_log_likelihood(distribution: StructuredDistribution, events: Tensor, known: Tensor) -> Tensor:
    """Return the negative log-likelihood of partially observed events: `(batch,)`.

    Args:
        distribution: A distribution over tags or heads.
        events: `(batch, n)`.
        known: `(batch, n)` booleans; unknown events are marginalised.
    """
    events = events.clamp(min=0)
    inside = mask_of(distribution.lengths, events.shape[1])
    if bool((known | ~inside).all()):
        return -distribution.log_prob(events)  # needs only one partition function, not two
    return -distribution.partial_log_prob(events, known)
