"""The base class of all heads, which compute a distribution over structures from word vectors."""

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
        logits: Scores, whose shape and meaning depend on the head.
        predictions: The best structures, in the format of the labels.
        codes: `(batch, pieces)`, the binary code of each word at its first piece, -100 elsewhere; None without
            codes.
    """

    logits: Tensor
    predictions: Tensor
    codes: Tensor | None = None


class Head(nn.Module, ABC):
    """A head: a layer that computes a distribution over structures from the word vectors of an encoder.

    A subclass implements `distribution`, `loss` and `predict`. Below, n is the largest number of words of a
    sentence of the batch.

    Attributes:
        views: Number of times that the encoder encodes a batch for one loss, each with different dropout.
        axes: The shape of the labels, which begins with "(batch, pieces" if each piece has a label.
    """

    views: ClassVar[int] = 1
    axes: ClassVar[str] = "(batch, pieces)"

    @abstractmethod
    def distribution(self, vectors: Tensor, lengths: Tensor) -> StructuredDistribution:
        """Return the distribution over the structures of each sentence.

        Args:
            vectors: `(batch, n, size)`, the word vectors, zero in padding.
            lengths: `(batch,)`, the numbers of words.
        """

    @abstractmethod
    def loss(self, views: Sequence[Tensor], places: WordPlaces, labels: Tensor) -> Tensor:
        """Return the mean loss, a scalar: per labelled word or, for labels of spans, per word.

        Args:
            views: Word vectors `(batch, n, size)`, one tensor for each of the `Head.views` passes.
            places: Positions of the words among the pieces.
            labels: Labels in the shape of `axes`; -100 if unknown.
        """

    @abstractmethod
    def predict(self, vectors: Tensor, places: WordPlaces) -> HeadOutput:
        """Return the scores and the best structures.

        Args:
            vectors: `(batch, n, size)`, the word vectors, zero in padding.
            places: Positions of the words among the pieces.
        """


def negative_log_likelihood(distribution: StructuredDistribution, events: Tensor, known: Tensor) -> Tensor:
    """Return the negative log-likelihood of partially observed structures, `(batch,)`.

    Args:
        distribution: A distribution over the tags or heads of words.
        events: `(batch, n)`, the tag or head of each word.
        known: `(batch, n)`, whether it is known; unknown tags or heads are marginalised.
    """
    events = events.clamp(min=0)
    inside = mask_of(distribution.lengths, events.shape[1])
    if bool((known | ~inside).all()):
        return -distribution.log_prob(events)  # needs only one partition function, not two
    return -distribution.partial_log_prob(events, known)
