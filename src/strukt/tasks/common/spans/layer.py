"""Layers that predict spans from word vectors: a distribution over structures, its loss, and its best spans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from strukt.data.constituents.binarisation import EMPTY
from strukt.data.vocabulary import Vocabulary
from strukt.distributions import SpanTree
from strukt.structures.binary_tree import crossed
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.partial_annotation import FORBIDDEN
from strukt.tasks.common.spans.prediction import PredictedSpan
from strukt.viz import HeatMap


@dataclass(frozen=True)
class GoldSpans:
    """The m labelled spans of a batch.

    A tree has other spans, too: where they are is unknown, and they have the empty label, except in sentences that
    are `partial`.

    Attributes:
        items: ``(m,)``, the sentence of each span, as an index into the batch.
        starts: ``(m,)``, the index of the first word of each span.
        ends: ``(m,)``, the index of the last word of each span, plus 1.
        labels: ``(m,)``, the label index of each span.
        partial: ``(batch,)``, whether each sentence may have further labelled spans; None if none may.
        forbidden: Targets from `partial_annotation.forbidden_targets`; empty if no spans can be forbidden.
    """

    items: Tensor
    starts: Tensor
    ends: Tensor
    labels: Tensor
    partial: Tensor | None = None
    forbidden: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, targets: dict[str, Tensor]) -> GoldSpans:
        """Make spans from the targets of a batch, ``(batch, spans)`` each, padded with -1.

        They are `starts`, `ends` and `labels` and, for partial annotation, `partial` and the forbidden spans.
        """
        items, places = (targets["starts"] >= 0).nonzero(as_tuple=True)
        starts, ends, labels = (targets[name][items, places] for name in ("starts", "ends", "labels"))
        if "partial" not in targets:
            return cls(items, starts, ends, labels)
        forbidden = {name: each for name, each in targets.items() if name.startswith(FORBIDDEN)}
        return cls(items, starts, ends, labels, targets["partial"][:, 0] > 0, forbidden)

    def at(self, values: Tensor) -> Tensor:
        """Select the values of these spans, ``(m, ...)``, from those of all spans, ``(batch, n + 1, n + 1, ...)``.

        The axes of size n + 1 are the start and the end of a span.
        """
        return values[self.items, self.starts, self.ends]

    def used(self, batch: int, size: int) -> Tensor:
        """Return a mask ``(batch, size, size)`` that is True at these spans; `size` is n + 1 for n words."""
        used = torch.zeros(batch, size, size, dtype=torch.bool, device=self.starts.device)
        used[self.items, self.starts, self.ends] = True
        return used

    def trees(self, spans: Tensor, lengths: Tensor) -> SpanTree:
        """Return the distribution over the unlabelled trees that contain these spans.

        Args:
            spans: ``(batch, n + 1, n + 1)``, the scores of spans.
            lengths: ``(batch,)``, the numbers of words.
        """
        crossing = crossed(self.used(len(spans), spans.shape[1]))
        return SpanTree(spans.masked_fill(crossing, -torch.inf), lengths, labelled=False, validate_args=False)

    def among(self, trees: Tensor, empty: int) -> GoldSpans:
        """Return all spans of trees that contain these gold spans; the other spans get the empty label.

        Args:
            trees: ``(batch, n + 1, n + 1)``, events of the distribution that `GoldSpans.trees` returns.
            empty: Index of the empty label.
        """
        labels = torch.full_like(trees, empty)
        labels[self.items, self.starts, self.ends] = self.labels
        items, starts, ends = (trees >= 0).nonzero(as_tuple=True)
        return GoldSpans(items, starts, ends, labels[items, starts, ends])


class SpanLayer(nn.Module, ABC):
    """A layer that predicts labelled spans from vectors of words.

    A subclass implements `scores`, `distribution`, `loss` and `best_spans`.

    Args:
        labels: All labels, including `EMPTY`, the label of spans that are only in a tree to make it binary.

    Attributes:
        views: Number of times that the encoder encodes a batch for one loss, each with different dropout.
        trains_alone: Whether only the loss of this layer trains the encoder. If so, other losses of the model,
            such as that of tags, have no gradient with respect to the encoder.
        labels: All labels, including `EMPTY`.
        empty: The index of the empty label.
        bits: Number of bits of a code; 0 without codes.
    """

    views: ClassVar[int] = 1
    trains_alone: ClassVar[bool] = False

    def __init__(self, labels: Vocabulary) -> None:
        super().__init__()
        self.labels = labels
        self.empty = labels.index(EMPTY)
        self.bits = 0

    def start_from(self, vectors: Callable[[], Tensor]) -> None:
        """Set those initial weights that depend on word vectors of the training corpus; none by default.

        Args:
            vectors: Computes the vectors of the first words of the corpus, ``(words, size)``.
        """

    @abstractmethod
    def scores(self, words: Tensor, lengths: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Return the scores of the distribution, for word vectors ``(batch, n, size)`` and lengths ``(batch,)``.

        In prediction, this is the only method that uses the weights of the layer.
        """

    @abstractmethod
    def distribution(self, words: Tensor, lengths: Tensor) -> StructuredDistribution:
        """Return the distribution over structures of spans.

        Args:
            words: Word vectors, ``(batch, n, size)``.
            lengths: ``(batch,)``, the numbers of words.
        """

    def entropies(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the entropy of the distribution that `best_spans` chooses from, ``(batch,)``, in nats.

        The arguments are those of `best_spans`.

        Raises:
            SettingError: If the layer scores codes in place of labels.
        """
        return self.distribution(words, lengths).entropy()

    @abstractmethod
    def loss(self, views: Sequence[Tensor], gold: GoldSpans, lengths: Tensor) -> Tensor:
        """Return the mean loss, a scalar.

        Args:
            views: Word vectors ``(batch, n, size)``, one tensor for each view.
            gold: The known spans. All other spans of a tree have the empty label, except in partially annotated
                sentences.
            lengths: ``(batch,)``, the numbers of words.
        """

    @abstractmethod
    def best_spans(
        self, words: Tensor, lengths: Tensor, probabilities: bool = False
    ) -> Iterator[list[PredictedSpan]]:
        """Yield the spans of the best structure of each sentence, outer before inner, left before right.

        For trees, they include spans with the empty label.

        Args:
            words: Word vectors, ``(batch, n, size)``.
            lengths: ``(batch,)``, the numbers of words.
            probabilities: Whether to compute the probability of each span.
        """

    @property
    def codes(self) -> Sequence[int]:
        """All codes that occurred in the training corpus; empty for layers without codes."""
        return ()

    def distances(self) -> HeatMap | None:
        """Draw the distances between the codes of labels; None without codes."""
        return None

    def shares(self, spans: Sequence[PredictedSpan]) -> dict[str, tuple[int, int]]:  # noqa: ARG002
        """Return a sentence's numerators and denominators of additional scores; see `Prediction.shares`."""
        return {}

    def calibrate(self, batches: Iterable[tuple[Tensor, GoldSpans, Tensor]]) -> None:
        """Count the statistics that are not learned by gradients; by default, do nothing.

        Args:
            batches: Batches of the whole training corpus: word vectors without dropout, known spans, and lengths.
        """


def spans_of(event: Tensor) -> list[tuple[int, int, int]]:
    """Return start, end and label of the spans of a tree, outer before inner, left before right.

    Args:
        event: ``(n + 1, n + 1)``, an event of `SpanTree` for n words: the label of each span in the tree, by start
            and end; -1 for all other pairs.

    Examples:
        >>> event = torch.full((3, 3), -1)
        >>> event[0, 2], event[0, 1], event[1, 2] = 4, 0, 1
        >>> spans_of(event)
        [(0, 2, 4), (0, 1, 0), (1, 2, 1)]
    """
    starts, ends = (event >= 0).nonzero(as_tuple=True)
    triples = zip(starts.tolist(), ends.tolist(), event[starts, ends].tolist(), strict=True)
    return sorted(triples, key=lambda span: (span[0], -span[1]))
