"""Distinct random structures: each drawn from what the distribution has left after those before it.

The structures that are left are kept as a partition into cells, each given by parts that must be used and parts
that must not be. When a structure is drawn from a cell, the rest of the cell falls into new cells, one for each of
its parts: the first t parts are required, and the next is forbidden (as Lawler 1972 enumerates the best ones).
This is exact where no structure uses all parts of another one and more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.inference.perturbation import gumbel_noise


@dataclass(frozen=True)
class _Split:
    """The cells that one drawn structure of each item left of the cell that it came from.

    Attributes:
        required: Parts required in the old cell, ``(batch, *parts)``.
        forbidden: Parts forbidden in it.
        rank: The number of each part of the structure, from 0; -1 for other parts.
        log_weights: Log-partition of each new cell, ``(cells, batch)``.
    """

    required: Tensor
    forbidden: Tensor
    rank: Tensor
    log_weights: Tensor

    def cell(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """The required and the forbidden parts of one cell of each item, by its index ``(batch,)``."""
        index = index.reshape(-1, *(1,) * (self.rank.dim() - 1))
        before = (self.rank >= 0) & (self.rank < index)
        return self.required | before, self.forbidden | (self.rank == index)


def sample_without_replacement(
    k: int,
    parts_shape: torch.Size,
    log_weight: Callable[[Tensor, Tensor], Tensor],
    draw: Callable[[Tensor, Tensor], Tensor],
    to_parts: Callable[[Tensor], Tensor],
    device: torch.device,
) -> Tensor:
    """Distinct events ``(batch, k, *event)`` in the order in which they were drawn; -1 where none is left.

    Args:
        k: How many.
        parts_shape: ``(batch, *parts)``.
        log_weight: Required and forbidden parts, ``(batch, *parts)`` each, to log-partitions ``(batch,)``.
        draw: The same to one sample of each item ``(batch, *event)``; any event for an item of weight zero.
        to_parts: Events to their 0/1 parts ``(batch, *parts)``.
        device: Of the masks.

    Takes k times as many log-partitions as a structure has parts.
    """
    nothing = torch.zeros(parts_shape, dtype=torch.bool, device=device)
    # All structures, as if split off by a structure of one part that none has.
    splits = [_Split(nothing, nothing, nothing.long() - 1, log_weight(nothing, nothing).unsqueeze(0))]
    events = []
    for _ in range(k):
        required, forbidden, left = _choose_cells(splits)
        event = draw(required, forbidden)
        events.append(torch.where(left.reshape(-1, *(1,) * (event.dim() - 1)), event, -1))
        splits.append(_split(required, forbidden, to_parts(event), left, log_weight))
    return torch.stack(events, 1)


def _choose_cells(splits: list[_Split]) -> tuple[Tensor, Tensor, Tensor]:
    """One cell of each item, drawn and taken out: its required and forbidden parts, and if there was one."""
    log_weights = torch.cat([split.log_weights for split in splits])
    left = log_weights.amax(0) > -torch.inf
    chosen = (log_weights + gumbel_noise(log_weights)).argmax(0)
    required, forbidden = (torch.zeros_like(mask) for mask in (splits[0].required, splits[0].forbidden))
    first = 0
    for split in splits:
        count = len(split.log_weights)
        here = (chosen >= first) & (chosen < first + count) & left
        index = (chosen - first).clamp(0, count - 1)
        mask = here.reshape(-1, *(1,) * (required.dim() - 1))
        for total, found in zip((required, forbidden), split.cell(index), strict=True):
            total |= mask & found
        items = here.nonzero().squeeze(1)
        split.log_weights[index[items], items] = -torch.inf
        first += count
    return required, forbidden, left


def _split(
    required: Tensor,
    forbidden: Tensor,
    parts: Tensor,
    left: Tensor,
    log_weight: Callable[[Tensor, Tensor], Tensor],
) -> _Split:
    """What is left of the cells when a structure of each is taken out."""
    used = (parts > 0).flatten(1) & left.unsqueeze(1)
    rank = torch.where(used, used.cumsum(1) - 1, -1).reshape(parts.shape)
    count = int(used.sum(1).max()) if len(used) else 0
    split = _Split(required, forbidden, rank, parts.new_full((count, len(parts)), -torch.inf))
    for index in range(count):
        cell = split.cell(torch.full((len(parts),), index, device=parts.device))
        exists = (rank == index).flatten(1).any(1)
        split.log_weights[index] = torch.where(exists, log_weight(*cell), -torch.inf)
    return split
