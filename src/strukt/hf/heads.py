"""The base of all heads: from vectors of words to a distribution over structures, its loss and its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from strukt.hf.words import WordPlaces
from strukt.nn.encoders import mask_of
from strukt.structures.distribution import StructuredDistribution


class Answer(NamedTuple):
    """The answers of a head about a batch.

    Attributes:
        logits: Scores; each head says of what.
        predictions: The best structures, in the form of the labels.
        codes: `(batch, pieces)` binary codes of words, -100 elsewhere; None if the head has none.
    """

    logits: Tensor
    predictions: Tensor
    codes: Tensor | None = None


class Head(nn.Module, ABC):
    """A distribution over structures, on top of an encoder.

    Attributes:
        views: How often the encoder reads a batch for one loss, with different dropout.
        axes: The form of the labels, for messages.
    """

    views: ClassVar[int] = 1
    axes: ClassVar[str] = "(batch, pieces)"

    @abstractmethod
    def distribution(self, vectors: Tensor, lengths: Tensor) -> StructuredDistribution:
        """Return the distribution over the structures of each sentence.

        Args:
            vectors: `(batch, n, size)` of words, zero in the padding.
            lengths: `(batch,)`.
        """

    @abstractmethod
    def loss(self, views: Sequence[Tensor], places: WordPlaces, labels: Tensor) -> Tensor:
        """Return the mean loss per word, a scalar.

        Args:
            views: `views` times the vectors `(batch, n, size)`.
            places: The places of the words.
            labels: In the form of `axes`, -100 where nothing is known.
        """

    @abstractmethod
    def answer(self, vectors: Tensor, places: WordPlaces) -> Answer:
        """Return scores and the best structures.

        Args:
            vectors: `(batch, n, size)`.
            places: The places of the words.
        """


def negative_log_likelihood(distribution: StructuredDistribution, events: Tensor, known: Tensor) -> Tensor:
    """Return the negative log-probability of what is known of each event: `(batch,)`.

    Args:
        distribution: Over tags or heads.
        events: `(batch, n)`.
        known: `(batch, n)` booleans; all other entries may be anything, and are summed over.
    """
    events = events.clamp(min=0)
    inside = mask_of(distribution.lengths, events.shape[1])
    if bool((known | ~inside).all()):
        return -distribution.log_prob(events)  # one partition function, not two
    return -distribution.partial_log_prob(events, known)
