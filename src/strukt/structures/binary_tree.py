"""Structures whose event is a labelled binary tree over the spans of a sentence."""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.checks import arguments, guards
from strukt.structures import events
from strukt.structures.distribution import StructuredDistribution
from strukt.structures.explanations import spans as explanations

MOST_CANDIDATES = 1 << 20
"""The largest number of labelled trees to enumerate."""


class BinaryTree(StructuredDistribution, abc.ABC):
    """A structure with events ``batch + (n + 1, n + 1)``: the label of each span of a tree, -1 elsewhere.

    There are n words. ``[i, j]`` is the span from fencepost i to j > i: the words i to j - 1, counted from 0.
    """

    @property
    @abc.abstractmethod
    def _labels(self) -> int:
        """The number of labels."""

    @property
    def _label_ranges(self) -> tuple[range, range]:
        """The ranges of labels of single words, and of wider spans."""
        return range(self._labels), range(self._labels)

    def _are_structures(self, event: Tensor) -> Tensor:
        return self._read(event)[2]

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:  # noqa: ARG002
        return explanations.tree(event, length, *self._label_ranges)

    @property
    def _widths(self) -> Tensor:
        """The number of words from one fencepost to another: ``(n + 1, n + 1)``."""
        ends = torch.arange(self.event_shape[0], device=self.lengths.device)
        return ends - ends[:, None]

    @property
    def _within(self) -> Tensor:
        """A mask of the pairs of fenceposts that are spans within the lengths: ``batch + (n + 1, n + 1)``."""
        ends = torch.arange(self.event_shape[0], device=self.lengths.device)
        return (ends[:, None] < ends) & (ends <= self.lengths[..., None, None])

    def _crossed_by_required(self, spans: Tensor) -> Tensor:
        """Return a mask of the spans that no tree with all required spans has: ``batch + (n + 1, n + 1)``.

        ``spans``, in the same shape, is a mask of the required spans. The result has the spans that cross one of
        them. It has all spans if ``spans`` has an entry [i, j] within the lengths that is not a span, with i >= j.
        """
        ends = torch.arange(self.event_shape[0], device=self.lengths.device)
        no_span = (ends[:, None] >= ends) & (ends[:, None] <= self.lengths[..., None, None])
        return crossed(spans) | (spans & no_span).flatten(-2).any(-1)[..., None, None]

    def _labelled_event(self, event: Tensor) -> Tensor:
        """Return events as a LongTensor of the right shape.

        Raises:
            ValueError: If the shape or the type is wrong, or (with ``validate_args``) a label is too large.
        """
        event = arguments.event(event, self.batch_shape, self.event_shape)
        if self._validate_args:
            named = ((event < self._labels) | ~self._within).flatten(-2).all(-1)
            guards.require_structures(event, named, f"made of labels 0 to {self._labels - 1}")
        return event

    def _is_named(self, event: Tensor) -> Tensor:
        return ((event >= -1) & (event < self._labels)) | ~self._within

    def _read(self, event: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the flat indices of the spans of trees, their labels, and a mask of valid trees.

        The indices and labels are ``(..., 2 n)``, -1 and 0 after the last span; the mask is ``(...)``, the leading
        axes of ``event``.
        """
        return self._apply(events.read_spans, event, *self._label_ranges, axes=2)  # type: ignore[no-any-return]

    def _candidates(self) -> Tensor:
        size = self.event_shape[0]
        words, inner = size - 1, max(size - 2, 0)
        shapes = math.comb(2 * inner, inner) // (inner + 1)
        count = shapes * self._labelling_count(words, inner)
        if count > MOST_CANDIDATES:
            raise ValueError(f"{count} trees are too many to enumerate")
        rows = []
        for tree in binary_trees(0, words):
            for labels in self._labellings(tree):
                row = torch.full((size, size), -1, dtype=torch.int64)
                for (start, end), label in labels.items():
                    row[start, end] = label
                rows.append(row)
        return torch.stack(rows).to(self.scores[0].device)

    def _labelling_count(self, words: int, inner: int) -> int:
        """Return the number of `_labellings` of a tree with these numbers of words and of wider spans."""
        word, wider = self._label_ranges
        count: int = len(word) ** words * len(wider) ** inner
        return count

    def _labellings(self, tree: Sequence[tuple[int, int]]) -> Iterable[Mapping[tuple[int, int], int]]:
        """Return the possible labellings of a tree, and perhaps invalid ones; each maps spans to their labels.

        ``tree`` holds the spans (start, end) in pre-order.
        """
        word, wider = self._label_ranges
        choices = itertools.product(*(word if end == start + 1 else wider for start, end in tree))
        return (dict(zip(tree, labels, strict=True)) for labels in choices)


def crossed(used: Tensor) -> Tensor:
    """Return a mask ``(..., n + 1, n + 1)`` of the spans that cross a span of the mask ``used``; time O(n^2)."""
    return _crossed_from_the_right(used) | _mirrored(_crossed_from_the_right(_mirrored(used)))


def _mirrored(used: Tensor) -> Tensor:
    """Return a mask of spans ``(..., n + 1, n + 1)`` with fenceposts counted from the end of the sentence."""
    return used.flip(-1, -2).mT


def _crossed_from_the_right(used: Tensor) -> Tensor:
    """Return a mask of the spans (i, j) for which some span (k, l) of the mask ``used`` has i < k < j < l."""
    ending_after = used.flip(-1).cumsum(-1).flip(-1)  # [k, j]: number of (k, l) with l >= j
    ending_after = torch.nn.functional.pad(ending_after[..., 1:], (0, 1))  # with l > j
    starting_before = ending_after.cumsum(-2)  # [k, j]: number of (m, l) with m <= k, l > j
    size = used.shape[-1]
    inner = torch.nn.functional.pad(starting_before.diagonal(1, -2, -1), (1, 0))  # [j]: m <= j - 1
    ends = torch.arange(size, device=used.device)
    return (inner.unsqueeze(-2) - starting_before > 0) & (ends[:, None] < ends)


def binary_trees(start: int, end: int) -> list[list[tuple[int, int]]]:
    """Return all binary trees from one fencepost to another: for each, its spans (start, end) in pre-order."""
    if start == end:
        return [[]]
    if end == start + 1:
        return [[(start, end)]]
    return [
        [(start, end), *left, *right]
        for split in range(start + 1, end)
        for left in binary_trees(start, split)
        for right in binary_trees(split, end)
    ]
