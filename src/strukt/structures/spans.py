"""Structures whose event labels the spans of a binary tree, with a score for each label of each span."""

from __future__ import annotations

import abc

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.kernels.arrays import Array
from strukt.kernels.dynamic_program import used_alternatives
from strukt.kernels.semiring import NEG_INF
from strukt.structures import sparse
from strukt.structures.binary_tree import BinaryTree, crossed


class SpanStructure(BinaryTree, abc.ABC):
    """Binary trees with main scores ``batch + (n + 1, n + 1, c)`` and events ``batch + (n + 1, n + 1)``.

    There are n words and c labels. ``[i, j]`` is the span from fencepost i to j > i: the words i to j - 1, counted
    from 0. An event holds the label of each span of the tree, and -1 elsewhere. A subclass implements `_places` or
    `_score`; `_places_of_spans` returns the indices of the main scores.
    """

    labelled: bool = True
    """True if spans have labels; if not, the main scores lack the last axis, and the label of every span is 0."""

    def to_parts(self, event: Tensor) -> Tensor:
        main = self.scores[0]
        event = self._labelled_event(event)
        used = self._within.unsqueeze(-1) & (
            event.unsqueeze(-1) == torch.arange(self._labels, device=main.device)
        )
        return self._from_labels(used).to(main.dtype)

    def _from_parts(self, parts: Tensor) -> Tensor:
        each = parts if self.labelled else parts.unsqueeze(-1)
        return used_alternatives(each)

    @property
    def _labels(self) -> int:
        return self.scores[0].shape[-1] if self.labelled else 1

    @property
    def _parts_within(self) -> Tensor:
        """A mask of the main parts that are spans within the lengths; it broadcasts to the main scores."""
        return self._within.unsqueeze(-1) if self.labelled else self._within

    def _from_labels(self, parts: Tensor) -> Tensor:
        """Return parts in the shape of the main scores, from parts with an axis of labels."""
        return parts if self.labelled else parts.squeeze(-1)

    @property
    def _most_parts(self) -> int:
        return max(2 * self.event_shape[0] - 3, 0)

    def _events_of_parts(self, parts: Array, sizes: Array) -> Tensor:
        return sparse.events_of_parts(parts, sizes, self.event_shape, self._labels, self._labels)

    def _places_of_spans(self, event: Tensor) -> Tensor:
        """Return the flat indices of the main scores that a tree uses, ``(..., 2 n)``; -1 after the last span."""
        spans, labels, _ = self._read(event)
        return torch.where(spans >= 0, spans * self._labels + labels.clamp(0, self._labels - 1), -1)

    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        """Forbid all other labels of required spans, and all spans that cross a required span.

        If two labels of a span are required, all of its labels are forbidden.
        """
        main, *others = self.scores
        each = required if self.labelled else required.unsqueeze(-1)
        spans = each.any(-1, keepdim=True)
        rivals = spans & (~each | (each.sum(-1, keepdim=True) > 1))
        excluded = rivals | self._crossed_by_required(spans.squeeze(-1)).unsqueeze(-1)
        return main.masked_fill(self._from_labels(excluded), NEG_INF), *others

    def _agreeing(self, event: Tensor, known: Tensor) -> Self:
        known = known & self._within
        present = known & (event >= 0)
        labels = torch.arange(self._labels, device=event.device)
        wrong = known.unsqueeze(-1) & (event.unsqueeze(-1) != labels)
        return self.condition(forbidden=self._from_labels(wrong | crossed(present).unsqueeze(-1)))

