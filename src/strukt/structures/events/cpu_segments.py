"""Numba kernels of frames and segments, and of the places of their scores: see `strukt.structures.events`."""

from __future__ import annotations

from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import kernel
from strukt.structures.events.cpu_calls import mask_of, places_of


def are_frames(
    labels: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor, blank: int, count: int
) -> Tensor:
    return mask_of(_are_frames, labels, lengths, states, target_lengths, blank, count)


@kernel
def _are_frames(
    labels: Array, lengths: Array, states: Array, target_lengths: Array, blank: int, count: int, are_valid: Array
) -> None:
    """Write to ``are_valid`` True for rows whose labels collapse to their targets, else False.

    Arrays: ``labels (rows, n)`` and ``states (rows, 2 m + 1)``; ``lengths``, ``target_lengths``, and the result
    ``are_valid (rows,)``.
    """
    for row in range(len(labels)):
        before, spelt, valid = blank, 0, True
        for t in range(lengths[row]):
            label = labels[row, t]
            valid &= 0 <= label < count
            if label not in (blank, before):
                valid &= spelt < target_lengths[row] and states[row, 2 * spelt + 1] == label
                spelt += 1
            before = label
        are_valid[row] = valid and spelt == target_lengths[row]


def are_segmentations(labels: Tensor, lengths: Tensor, longest: int, count: int) -> Tensor:
    return mask_of(_are_segmentations, labels, lengths, longest, count)


@kernel
def _are_segmentations(labels: Array, lengths: Array, longest: int, count: int, are_valid: Array) -> None:
    """Write to ``are_valid`` True for rows that are segmentations, else False.

    Arrays: ``labels (rows, n)``, ``lengths`` and the result ``are_valid (rows,)``.
    """
    for row in range(len(labels)):
        start, valid = 0, True
        for t in range(lengths[row]):
            label = labels[row, t]
            valid &= -1 <= label < count and (label >= 0 or (t > 0 and t - start < longest))
            start = t if label >= 0 else start
        are_valid[row] = valid


def segment_places(
    labels: Tensor, lengths: Tensor, longest: int, count: int, pairs: int, per_position: bool
) -> tuple[Tensor, Tensor]:
    return places_of(_segment_places, labels.shape, labels, lengths, longest, count, pairs, per_position)


@kernel
def _segment_places(
    labels: Array, lengths: Array, longest: int, count: int, pairs: int, per_position: bool,
    places: Array, onward: Array,
) -> None:  # fmt: skip
    """Write, at the first position of each segment, its place and that of the transition to the next segment.

    Positions are visited backwards, so that the start of the next segment is known.

    Arrays: ``labels (rows, n)``, ``lengths (rows,)``, and the results ``places`` and ``onward (rows, n)``, whose
    other entries are not written.
    """
    for row in range(len(labels)):
        following, label_after = lengths[row], -1
        for t in range(lengths[row] - 1, -1, -1):
            if labels[row, t] < 0:
                continue
            label = min(labels[row, t], count - 1)
            places[row, t] = (t * longest + min(following - t, longest) - 1) * count + label
            if label_after >= 0:
                onward[row, t] = label * pairs + label_after if pairs > 1 else 0
                if per_position:
                    onward[row, t] += (following - 1) * pairs * pairs
            following, label_after = t, label
