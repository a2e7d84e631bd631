"""Validity of events, and the places of the scores that they use (`strukt.kernels.places`).

A place is the flat index of a score among those of an item; places of -1 name no score. The functions that return
places expect valid events. All arguments have one leading axis, over events; lengths are ``(rows,)``. Only
`cells_within`, `durations`, `shifted` and `within` take any leading axes. Events are LongTensors; padding is
ignored.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels import dispatch
from strukt.kernels.autograd import is_plain
from strukt.structures.events import reference
from strukt.structures.events.reference import cells_within, durations, shifted, within

__all__ = [
    "alternative_places",
    "are_dependency_trees",
    "are_frames",
    "are_paths",
    "are_segmentations",
    "are_spanning_trees",
    "are_subsets",
    "bit_places",
    "cells_within",
    "durations",
    "edge_places",
    "in_range",
    "item_places",
    "path_places",
    "read_spans",
    "segment_places",
    "shifted",
    "tag_places",
    "within",
]


def in_range(named: Tensor, lengths: Tensor, count: int) -> Tensor:
    """Return a mask ``(rows,)`` of the rows of ``named (rows, n)`` that have only numbers from 0 to ``count - 1``.

    Numbers in the padding are ignored.

    Examples:
        >>> import torch
        >>> in_range(torch.tensor([[0, 2, -1], [0, 3, 1]]), torch.tensor([2, 3]), 3)
        tensor([ True, False])
    """
    return _kernels(named).in_range(named, lengths, count)  # type: ignore[no-any-return]


def alternative_places(named: Tensor, lengths: Tensor, count: int) -> Tensor:
    """Return the place, in scores ``(n, count)``, of the alternative at each position; -1 in the padding.

    ``named (rows, n)`` holds the alternatives, from 0 to ``count - 1``; the result has the same shape.
    """
    return _kernels(named).alternative_places(named, lengths, count)  # type: ignore[no-any-return]


def tag_places(tags: Tensor, lengths: Tensor, count: int, per_step: bool) -> tuple[Tensor, Tensor]:
    """Return the places of tags, and of pairs of neighbouring tags.

    Args:
        tags: ``(rows, n)``.
        lengths: ``(rows,)``, in positions.
        count: The number of different tags.
        per_step: Whether the scores of pairs are ``(n - 1, count, count)``, not ``(count, count)`` for all steps.

    Returns:
        Places ``(rows, n)`` in the scores of tags ``(n, count)``, and places ``(rows, n - 1)`` in the scores of
        pairs; -1 in the padding.
    """
    return _kernels(tags).tag_places(tags, lengths, count, per_step)  # type: ignore[no-any-return]


def are_frames(
    labels: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor, blank: int, count: int
) -> Tensor:
    """Return a mask ``(rows,)`` of the rows of ``labels`` that collapse to their target (CTC).

    Args:
        labels: ``(rows, n)``, the label of each frame, from 0 to ``count - 1``.
        lengths: ``(rows,)``, in frames.
        states: ``(rows, 2 m + 1)``, the target of each row, with blanks around each label.
        target_lengths: ``(rows,)``, in labels.
        blank: The blank label.
        count: The number of labels.
    """
    kernels = _kernels(labels)
    return kernels.are_frames(labels, lengths, states, target_lengths, blank, count)  # type: ignore[no-any-return]


def are_segmentations(labels: Tensor, lengths: Tensor, longest: int, count: int) -> Tensor:
    """Return a mask ``(rows,)`` of the rows of ``labels`` that are segmentations.

    Args:
        labels: ``(rows, n)``, 0 to ``count - 1`` at the first position of each segment, -1 elsewhere.
        lengths: ``(rows,)``, in positions.
        longest: The largest number of positions of a segment.
        count: The number of labels.
    """
    return _kernels(labels).are_segmentations(labels, lengths, longest, count)  # type: ignore[no-any-return]


def segment_places(
    labels: Tensor, lengths: Tensor, longest: int, count: int, pairs: int, per_position: bool
) -> tuple[Tensor, Tensor]:
    """Return the places of segments in scores ``(n, longest, count)`` and of the transitions between them.

    Args:
        labels: Segmentations ``(rows, n)``.
        lengths: ``(rows,)``, in positions.
        longest: The largest number of positions of a segment.
        count: The number of labels.
        pairs: The number of rows and of columns of the scores of transitions: ``count``, or 1 if all transitions
            share one score.
        per_position: Whether the scores of transitions are ``(n - 1, pairs, pairs)``, not ``(pairs, pairs)``.

    Returns:
        Two tensors ``(rows, n)``: at the first position of each segment, the place of the segment and that of the
        transition to the next segment; -1 elsewhere.
    """
    kernels = _kernels(labels)
    return kernels.segment_places(labels, lengths, longest, count, pairs, per_position)  # type: ignore[no-any-return]


def are_dependency_trees(heads: Tensor, lengths: Tensor, single_root: bool, projective: bool) -> Tensor:
    """Return a mask ``(rows,)`` of the rows of heads ``(rows, n)``, 0 for the root, that are trees.

    On CPUs, time O(n) for a row, or O(n^2) if trees must be projective.

    Examples:
        >>> import torch
        >>> are_dependency_trees(torch.tensor([[2, 0, 2], [2, 1, 0]]), torch.tensor([3, 3]), True, False)
        tensor([ True, False])
    """
    return _kernels(heads).are_dependency_trees(heads, lengths, single_root, projective)  # type: ignore[no-any-return]


def are_spanning_trees(edges: Tensor, lengths: Tensor) -> Tensor:
    """Return a mask ``(rows,)`` of the rows of ``edges (rows, n, n)`` that are spanning trees.

    For i < j, ``[i, j]`` must be 1 if the edge is used, else 0; other entries are ignored.
    """
    return _kernels(edges).are_spanning_trees(edges, lengths)  # type: ignore[no-any-return]


def edge_places(edges: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places in scores ``(n, n)`` of the edges that are used, and of those that are not.

    Each is ``(rows, n n)``, -1 where there is no such edge. ``edges`` are those of `are_spanning_trees`.
    """
    return _kernels(edges).edge_places(edges, lengths)  # type: ignore[no-any-return]


def are_subsets(taken: Tensor, lengths: Tensor, smallest: Tensor, largest: Tensor) -> Tensor:
    """Return a mask ``(rows,)`` of the rows of 0 and 1, ``taken (rows, n)``, with a permitted number of ones.

    Permitted numbers are those from ``smallest (rows,)`` to ``largest (rows,)``.

    Examples:
        >>> import torch
        >>> sizes = torch.tensor([1, 1])
        >>> are_subsets(torch.tensor([[0, 1, -1], [1, 1, 0]]), torch.tensor([2, 3]), sizes, sizes)
        tensor([ True, False])
    """
    return _kernels(taken).are_subsets(taken, lengths, smallest, largest)  # type: ignore[no-any-return]


def item_places(taken: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places of the items that are taken, and of those left out, from 0/1 events ``taken (rows, n)``.

    Each is ``(rows, n)``, -1 where there is no such item.
    """
    return _kernels(taken).item_places(taken, lengths)  # type: ignore[no-any-return]


def are_paths(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Return a mask ``(rows,)`` of the grids of ``moves (rows, n, m)`` that are paths.

    ``[i, j]`` is the move into cell (i, j): 0 (match), 1 (insert), 2 (delete), or -1 if the path does not visit
    it. Grid b has ``lengths[b]`` rows and ``target_lengths[b]`` columns; other cells are padding.
    """
    return _kernels(moves).are_paths(moves, lengths, target_lengths)  # type: ignore[no-any-return]


def path_places(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places of the moves of paths in scores ``(n, m, 3)``, and of pairs of moves in scores ``(3, 3)``.

    Entry ``[i, j]`` of the latter scores move i followed by move j. Both results are ``(rows, count)``, with -1 in
    unused entries; ``count`` depends on the backend. The arguments are those of `are_paths`.
    """
    return _kernels(moves).path_places(moves, lengths, target_lengths)  # type: ignore[no-any-return]


def read_spans(labels: Tensor, lengths: Tensor, words: range, wider: range) -> tuple[Tensor, Tensor, Tensor]:
    """Return the spans of trees in the order of their starts, then ends; time O(n^2) per item.

    Args:
        labels: ``(rows, n + 1, n + 1)``: the label of each span, -1 elsewhere.
        lengths: ``(rows,)``, in words.
        words: The labels that spans of one word may have.
        wider: The labels that wider spans may have.

    Returns:
        The flat index ``i (n + 1) + j`` of each span (i, j), ``(rows, 2 n)``, -1 after the last; their labels
        ``(rows, 2 n)``, 0 after the last; and a mask ``(rows,)`` of the rows that are binary trees with valid
        labels.

    Examples:
        >>> import torch
        >>> labels = torch.full((1, 3, 3), -1)
        >>> labels[0, 0, 1], labels[0, 0, 2], labels[0, 1, 2] = 5, 6, 7
        >>> read_spans(labels, torch.tensor([2]), range(8), range(8))
        (tensor([[ 1,  2,  5, -1]]), tensor([[5, 6, 7, 0]]), tensor([True]))
    """
    return _kernels(labels).read_spans(labels, lengths, words, wider)  # type: ignore[no-any-return]


def bit_places(spans: Tensor, codes: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """Return the places of the 1 bits of codes, and of their 0 bits, in scores ``(n + 1, n + 1, bits)``.

    Args:
        spans: ``(rows, count)``, the flat indices of spans, as `read_spans` returns; negative for none.
        codes: ``(rows, count)``, the code of each span; bit b counts 2^b.
        bits: The number of bits.

    Returns:
        Two tensors ``(rows, count bits)``, with -1 for bits of the other value, and where there is no span.
    """
    return _kernels(codes).bit_places(spans, codes, bits)  # type: ignore[no-any-return]


def _kernels(events: Tensor) -> Any:
    """Return the module of kernels for the device of ``events`` if it can be used, else the reference."""
    return (dispatch.select(__package__, events) if is_plain() else None) or reference
