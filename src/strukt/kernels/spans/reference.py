"""Binary trees over spans, read in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor


def read(events: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return places, labels and which items are trees: see `strukt.kernels.spans.read`."""
    size = events.shape[-1]
    room, flat = 2 * size - 2, events.flatten(1)
    ends = torch.arange(size, device=events.device)
    spans = (ends[:, None] < ends) & (ends <= lengths[:, None, None])
    used = spans.flatten(1) & (flat >= 0)
    rank = torch.where(used, used.cumsum(-1) - 1, room).clamp(max=room)
    every = torch.arange(size * size, device=events.device).expand(used.shape)
    places = torch.full((len(events), room + 1), -1, device=events.device).scatter(-1, rank, every)
    places = places[:, :room]
    labels = torch.where(places >= 0, flat.gather(-1, places.clamp(min=0)), 0)
    return places, labels, _are_trees(places, flat, lengths, size)


def _are_trees(places: Tensor, flat: Tensor, lengths: Tensor, size: int) -> Tensor:
    """Tell which sets of spans are binary trees: each wider span has both its children, and there are no others.

    The left child of a span is the widest of the narrower ones that begin with it: the one before it in the list.
    """
    used = places >= 0
    starts, ends = places.clamp(min=0) // size, places.clamp(min=0) % size
    before = torch.nn.functional.pad(places[:, :-1], (1, 0), value=-1).clamp(min=0)
    right_child = flat.gather(-1, before % size * size + ends) >= 0
    has_children = (before // size == starts) & (before % size > starts) & right_child
    complete = (~used | (ends - starts == 1) | has_children).all(-1)
    top = flat.gather(-1, lengths.unsqueeze(-1)).squeeze(-1) >= 0
    return complete & (used.sum(-1) == (2 * lengths - 1).clamp(min=0)) & (top | (lengths == 0))
