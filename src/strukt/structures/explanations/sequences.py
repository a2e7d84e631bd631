"""Explanations of labels that are not a segmentation or labelling of frames, and of forbidden tags."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from torch import Tensor

from strukt.kernels.semiring import NEG_INF
from strukt.structures.explanations.wording import out_of_range, unknown


def segmentation(event: Sequence[int], length: int, longest: int, labels: int) -> str | None:
    """Return a clause about the first fault of the labels of segments; None if they are a segmentation.

    ``event`` holds the label of each segment at its first position, and -1 elsewhere.

    Examples:
        >>> segmentation([1, -1, -1, 0], 4, longest=2, labels=2)
        'the segment from position 0 to 2 has 3 positions; expected at most 2, the longest with a score'
    """
    for position, label in enumerate(event[:length]):
        if label < -1:
            expected = f"a label from 0 to {labels - 1}, or -1 where no segment starts"
            return unknown(f"position {position}", label, length, expected)
        if label >= labels:
            return f"label {label} at position {position} is out of range; expected 0 to {labels - 1}"
    if length and event[0] < 0:
        return "no segment starts at position 0; expected segments that cover the sequence without gaps"
    starts = [position for position, label in enumerate(event[:length]) if label >= 0]
    for start, end in zip(starts, [*starts[1:], length], strict=True):
        if end - start > longest:
            return (
                f"the segment from position {start} to {end - 1} has {end - start} positions; expected at most "
                f"{longest}, the longest with a score"
            )
    return None


def frames(event: Sequence[int], length: int, labels: int, blank: int, target: Sequence[int]) -> str | None:
    """Return a clause about the first fault of the labels of frames; None if they collapse to the target (CTC).

    Examples:
        >>> frames([1, 1, 0, 1], 4, labels=3, blank=0, target=[1, 2])
        'its labels collapse to [1, 1]; expected the target [1, 2]'
    """
    fault = out_of_range(event, length, labels, "label", "frame")
    if fault:
        return fault
    collapsed = [label for label, _ in groupby(event[:length]) if label != blank]
    if collapsed != list(target):
        return f"its labels collapse to {collapsed}; expected the target {list(target)}"
    return None


def forbidden_tags(tags: Sequence[int], length: int, unary: Tensor, transition: Tensor) -> str | None:
    """Return a clause that names the first tag, or pair of tags, with score -inf; None if there is none.

    Args:
        tags: The tags of one item.
        length: The length of the item.
        unary: ``(n, c)``.
        transition: ``(steps, c, c)``, with a single step if all steps share their scores.
    """
    shared = len(transition) == 1
    for position, tag in enumerate(tags[:length]):
        if unary[position, tag] == NEG_INF:
            return f"unary[{position}, {tag}] is -inf for tag {tag} at position {position}"
        step, before = position - 1, tags[position - 1]
        if position and transition[0 if shared else step, before, tag] == NEG_INF:
            entry = f"[{before}, {tag}]" if shared else f"[{step}, {before}, {tag}]"
            return f"transition{entry} is -inf for tag {tag} at position {position} after tag {before}"
    return None
