"""Layers of spans on top of an encoder: a distribution over trees, its loss, and its best spans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from strukt.data.constituents.binarisation import EMPTY
from strukt.data.vocabulary import Vocabulary
from strukt.distributions import SpanTree
from strukt.structures.binary_tree import crossed
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.spans.prediction import PredictedSpan
from strukt.viz import HeatMap


@dataclass(frozen=True)
class GoldSpans:
    """The spans of a batch that are known, in a tree of which the others are unknown.

    Attributes:
        items: ``(m,)``: to which sentence each belongs.
        starts: ``(m,)`` fenceposts.
        ends: ``(m,)`` fenceposts.
        labels: ``(m,)``.
    """

    items: Tensor
    starts: Tensor
    ends: Tensor
    labels: Tensor

    @classmethod
    def of(cls, targets: dict[str, Tensor]) -> GoldSpans:
        """From the targets `starts`, `ends`, `labels` of a batch, padded with -1."""
        items, places = (targets["starts"] >= 0).nonzero(as_tuple=True)
        return cls(items, *(targets[name][items, places] for name in ("starts", "ends", "labels")))

    def at(self, values: Tensor) -> Tensor:
        """The values of these spans: ``(m, ...)`` of ``(batch, n + 1, n + 1, ...)``."""
        return values[self.items, self.starts, self.ends]

    def used(self, batch: int, size: int) -> Tensor:
        """Mark these spans: ``(batch, size, size)`` booleans."""
        used = torch.zeros(batch, size, size, dtype=torch.bool, device=self.starts.device)
        used[self.items, self.starts, self.ends] = True
        return used

    def trees(self, spans: Tensor, lengths: Tensor) -> SpanTree:
        """The distribution over the unlabelled trees that contain these spans.

        Args:
            spans: Scores ``(batch, n + 1, n + 1)``.
            lengths: ``(batch,)``.
        """
        crossing = crossed(self.used(len(spans), spans.shape[1]))
        return SpanTree(spans.masked_fill(crossing, -torch.inf), lengths, labelled=False, validate_args=False)

    def among(self, trees: Tensor, empty: int) -> GoldSpans:
        """All spans of trees that contain these; the others are labelled ``empty``.

        Args:
            trees: ``(batch, n + 1, n + 1)``, as of `trees`.
            empty: The label.
        """
        labels = torch.full_like(trees, empty)
        labels[self.items, self.starts, self.ends] = self.labels
        items, starts, ends = (trees >= 0).nonzero(as_tuple=True)
        return GoldSpans(items, starts, ends, labels[items, starts, ends])


class SpanLayer(nn.Module, ABC):
    """A layer from vectors of words to labelled spans.

    Args:
        labels: All labels, `EMPTY` among them: that of a span which is nothing.

    Attributes:
        views: How often the encoder reads a batch for one loss.
        trains_alone: Whether no other loss than its own is to train the encoder.
        labels: The labels.
        empty: The number of the empty label.
        bits: Length of the codes; 0 if there are none.
    """

    views: ClassVar[int] = 1
    trains_alone: ClassVar[bool] = False

    def __init__(self, labels: Vocabulary) -> None:
        super().__init__()
        self.labels = labels
        self.empty = labels.index(EMPTY)
        self.bits = 0

    def start_from(self, vectors: Callable[[], Tensor]) -> None:
        """Let weights begin as suits some vectors of words, which are computed when asked for: ``(m, size)``."""

    @abstractmethod
    def scores(self, words: Tensor, lengths: Tensor) -> Tensor | tuple[Tensor, ...]:
        """The scores of the distribution, from vectors ``(batch, n, size)``; all weights are here."""

    @abstractmethod
    def distribution(self, words: Tensor, lengths: Tensor) -> StructuredDistribution:
        """The distribution over structures of spans, from vectors ``(batch, n, size)``."""

    def entropies(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Compute the entropy of the structures that `found` chooses from, ``(batch,)``, in nats.

        Raises:
            SettingError: If spans have codes, which are scored in place of labels.
        """
        return self.distribution(words, lengths).entropy()

    @abstractmethod
    def loss(self, views: Sequence[Tensor], gold: GoldSpans, lengths: Tensor) -> Tensor:
        """The mean loss, a scalar.

        Args:
            views: So many times the vectors ``(batch, n, size)`` of the words, with different dropout.
            gold: The spans that are known. All others are unknown, but if they are spans, then empty ones.
            lengths: ``(batch,)``.
        """

    @abstractmethod
    def found(
        self, words: Tensor, lengths: Tensor, probabilities: bool = False
    ) -> Iterator[list[PredictedSpan]]:
        """Find the spans of the best structure of each sentence, outer before inner, left before right.

        Empty ones are among them, where the structure is a tree.
        """

    @property
    def codes(self) -> Sequence[int]:
        """All codes that are known."""
        return ()

    def distances(self) -> HeatMap | None:
        """Draw the distances between the codes of labels, where there are codes."""
        return None

    def shares(self, spans: Sequence[PredictedSpan]) -> dict[str, tuple[int, int]]:  # noqa: ARG002
        """Compute the terms of further scores from the spans of a sentence; see `Prediction`."""
        return {}

    def calibrate(self, batches: Iterable[tuple[Tensor, GoldSpans, Tensor]]) -> None:
        """Count what is not learned by gradients.

        Args:
            batches: Vectors of words, known spans and lengths of the whole training corpus, without dropout.
        """


def spans_of(event: Tensor) -> list[tuple[int, int, int]]:
    """List start, end and label of the spans of one tree, outer before inner, left before right.

    Args:
        event: ``(n + 1, n + 1)``, as of `SpanTree`.

    Examples:
        >>> event = torch.full((3, 3), -1)
        >>> event[0, 2], event[0, 1], event[1, 2] = 4, 0, 1
        >>> spans_of(event)
        [(0, 2, 4), (0, 1, 0), (1, 2, 1)]
    """
    starts, ends = (event >= 0).nonzero(as_tuple=True)
    triples = zip(starts.tolist(), ends.tolist(), event[starts, ends].tolist(), strict=True)
    return sorted(triples, key=lambda span: (span[0], -span[1]))
