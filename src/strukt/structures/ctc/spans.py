"""The frames of each label of a CTC transcript, in a given labelling (forced alignment)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.structures import events


class LabelSpans(NamedTuple):
    """The labels of a transcript and their frames, all ``batch + (m,)`` for m labels in the longest transcript.

    Attributes:
        labels: The labels, with repeats merged and blanks dropped; -1 after the last label.
        starts: The first frame of each label; -1 after the last label.
        ends: The frame after the last frame of each label; -1 after the last label.
        scores: The mean score of each label over its frames; 0 after the last label. Differentiable.
    """

    labels: Tensor
    starts: Tensor
    ends: Tensor
    scores: Tensor


def label_spans(
    frames: Tensor, logits: Tensor, lengths: Tensor, blank: int, longest: int | None = None
) -> LabelSpans:
    """Merge repeated labels, drop blanks, and return the frames of each remaining label.

    Args:
        frames: ``(*, n)``, a label for each frame; padding is ignored.
        logits: ``(*, n, c)``, the score of each label at each frame, with the same or fewer leading axes.
        lengths: ``*``, in frames.
        blank: The blank label.
        longest: The size m of the results, at least the largest number of labels in a transcript; None for that
            number.

    Returns:
        The labels, frames and mean scores, ``(*, m)``.

    Complexity: O(n) per item.

    Examples:
        >>> frames = torch.tensor([0, 2, 2, 0, 2, 1])
        >>> spans = label_spans(frames, torch.zeros(6, 3), torch.tensor(6), blank=0)
        >>> spans.labels.tolist(), spans.starts.tolist(), spans.ends.tolist()
        ([2, 2, 1], [1, 4, 5], [3, 5, 6])
    """
    n = frames.shape[-1]
    spoken = events.within(lengths, n) & (frames != blank)
    begins = spoken & (frames != torch.nn.functional.pad(frames[..., :-1], (1, 0), value=blank))
    number = begins.cumsum(-1) - 1
    if longest is None:
        longest = int(begins.sum(-1).max()) if begins.numel() else 0
    place = torch.where(spoken, number, longest)  # blanks and padding go to an extra column, which is cut off
    starts = _first(torch.where(begins, number, longest), longest)
    counts = _sums(torch.ones_like(place), place, longest)
    named = counts > 0
    chosen = logits.expand(*frames.shape, logits.shape[-1]).gather(-1, frames.clamp(min=0).unsqueeze(-1))
    scores = _sums(torch.where(spoken, chosen.squeeze(-1), 0.0), place, longest) / counts.clamp(min=1)
    first = starts.clamp(min=0)
    return LabelSpans(
        torch.where(named, frames.gather(-1, first), -1) if n else first,
        torch.where(named, starts, -1),
        torch.where(named, starts + counts, -1),
        scores,
    )


def _first(place: Tensor, count: int) -> Tensor:
    """Return the frame of each place number below ``count``, ``(*, count)``; -1 if no frame has it.

    ``place (*, n)`` holds the number of each frame; no two frames have the same number below ``count``.
    """
    frame = torch.arange(place.shape[-1], device=place.device).expand(place.shape)
    return frame.new_full((*place.shape[:-1], count + 1), -1).scatter(-1, place, frame)[..., :count]


def _sums(values: Tensor, place: Tensor, count: int) -> Tensor:
    """Return the sum of the values of the frames with each place number below ``count``: ``(*, count)``."""
    return values.new_zeros(*place.shape[:-1], count + 1).scatter_add(-1, place, values)[..., :count]
