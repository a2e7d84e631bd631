"""Reference in PyTorch that reads binary trees over spans."""

from __future__ import annotations

import torch
from torch import Tensor


def read_spans(labels: Tensor, lengths: Tensor, words: range, wider: range) -> tuple[Tensor, Tensor, Tensor]:
    """Return the places of spans, their labels, and a mask of trees: see `strukt.structures.events.read_spans`."""
    size = labels.shape[-1]
    capacity, flat = 2 * size - 2, labels.flatten(1)
    ends = torch.arange(size, device=labels.device)
    spans = ((ends[:, None] < ends) & (ends <= lengths[:, None, None])).flatten(1)
    used = spans & (flat >= 0)
    rank = torch.where(used, used.cumsum(-1) - 1, capacity).clamp(max=capacity)
    every = torch.arange(size * size, device=labels.device).expand(used.shape)
    places = torch.full((len(labels), capacity + 1), -1, device=labels.device).scatter(-1, rank, every)
    places = places[:, :capacity]
    result = torch.where(places >= 0, flat.gather(-1, places.clamp(min=0)), 0)
    marked = ((flat >= -1) | ~spans).all(-1)
    named = _are_named(places, result, size, words, wider)
    return places, result, _are_trees(places, flat, lengths, size) & marked & named


def bit_places(spans: Tensor, codes: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """Return the places of the 1 bits and of the 0 bits: see `strukt.structures.events.bit_places`."""
    axis = torch.arange(bits, device=codes.device)
    used, positive = (spans >= 0).unsqueeze(-1), (codes.unsqueeze(-1) >> axis & 1) > 0
    place = spans.unsqueeze(-1) * bits + axis
    chosen = (torch.where(used & each, place, -1).flatten(-2) for each in (positive, ~positive))
    return next(chosen), next(chosen)


def _are_named(places: Tensor, labels: Tensor, size: int, words: range, wider: range) -> Tensor:
    """Return a mask ``(rows,)`` of the rows whose span labels are all in the range of their width.

    ``places`` and ``labels`` are ``(rows, 2 n)``; ``size`` is n + 1.
    """
    is_word = places % size - places // size == 1
    first = torch.where(is_word, words.start, wider.start)
    last = torch.where(is_word, words.stop, wider.stop)
    return ((places < 0) | ((labels >= first) & (labels < last))).all(-1)


def _are_trees(places: Tensor, flat: Tensor, lengths: Tensor, size: int) -> Tensor:
    """Return a mask ``(rows,)`` of the sets of spans that are binary trees.

    Each span of several words must have two children, and there must be 2 n - 1 spans, one of them the whole
    sentence. The left child of a span is the widest narrower span with the same start: the span before it in the
    list. ``places`` are ``(rows, 2 size - 2)``, and ``flat (rows, size size)`` are the labels.
    """
    used = places >= 0
    starts, ends = places.clamp(min=0) // size, places.clamp(min=0) % size
    before = torch.nn.functional.pad(places[:, :-1], (1, 0), value=-1).clamp(min=0)
    right_child = flat.gather(-1, before % size * size + ends) >= 0
    has_children = (before // size == starts) & (before % size > starts) & right_child
    complete = (~used | (ends - starts == 1) | has_children).all(-1)
    top = flat.gather(-1, lengths.unsqueeze(-1)).squeeze(-1) >= 0
    return complete & (used.sum(-1) == (2 * lengths - 1).clamp(min=0)) & (top | (lengths == 0))
