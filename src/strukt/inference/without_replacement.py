"""Distinct random structures: each drawn from what the distribution has left after those before it.

The structures that are left are kept as a partition into cells, each given by parts that must be used and parts
that must not be. When a structure is drawn from a cell, the rest of the cell falls into new cells, one for each of
the parts that tell it from all others: the first t parts are as it has them, the next is not (as Lawler 1972
enumerates the best structures).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.inference.perturbation import gumbel_noise


@dataclass(frozen=True)
class _Cells:
    """What one drawn structure of each item leaves of the cell that it came from, in cells of their own.

    Attributes:
        required: Parts required in the old cell, ``(batch, *parts)``.
        forbidden: Parts forbidden in it.
        used: The parts of the structure.
        rank: The number of each part that tells it from others, from 0; -1 for the rest.
    """

    required: Tensor
    forbidden: Tensor
    used: Tensor
    rank: Tensor

    @property
    def count(self) -> int:
        """The number of cells of the item that has most."""
        return int(self.rank.max()) + 1 if self.rank.numel() else 0

    def masks(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """The required and the forbidden parts of one cell of each item, by its index ``(batch,)``."""
        index = _as_column(index, self.rank)
        same, other = (self.rank >= 0) & (self.rank < index), self.rank == index
        required = self.required | (same & self.used) | (other & ~self.used)
        return required, self.forbidden | (same & ~self.used) | (other & self.used)

    def weigh(self, log_weight: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """The log-partition of each cell, ``(count, batch)``; -inf where an item has fewer."""
        rows = []
        for number in range(self.count):
            index = torch.full((len(self.rank),), number, device=self.rank.device)
            exists = (self.rank == number).flatten(1).any(1)
            rows.append(torch.where(exists, log_weight(*self.masks(index)), -torch.inf))
        return torch.stack(rows) if rows else torch.empty(0, len(self.rank), device=self.rank.device)


def sample_without_replacement(
    k: int,
    parts_shape: torch.Size,
    log_weight: Callable[[Tensor, Tensor], Tensor],
    draw: Callable[[Tensor, Tensor], Tensor],
    to_parts: Callable[[Tensor], Tensor],
    telling: Callable[[Tensor], Tensor],
    device: torch.device,
) -> Tensor:
    """Distinct events ``(batch, k, *event)`` in the order in which they were drawn; -1 where none is left.

    Args:
        k: How many.
        parts_shape: ``(batch, *parts)``.
        log_weight: Required and forbidden parts, ``(batch, *parts)`` each, to log-partitions ``(batch,)``.
        draw: The same to one sample of each item ``(batch, *event)``; any event for an item of weight zero.
        to_parts: Events to their 0/1 parts ``(batch, *parts)``.
        telling: Parts that are used to those that tell the structure from all others, ``(batch, *parts)`` each:
            the used ones, where no structure has all parts of another one and more.
        device: Of the masks.

    Takes k times as many log-partitions as there are parts that tell.
    """
    nothing = torch.zeros(parts_shape, dtype=torch.bool, device=device)
    everything = _Cells(nothing, nothing, nothing, nothing.long() - 1)
    found = [(everything, log_weight(nothing, nothing).unsqueeze(0))]
    events = []
    for _ in range(k):
        required, forbidden, left = _take(found)
        event = draw(required, forbidden)
        events.append(torch.where(_as_column(left, event), event, -1))
        used = to_parts(event) > 0
        tell = telling(used) & _as_column(left, used)
        number = tell.flatten(1).cumsum(1).reshape(tell.shape) - 1
        cells = _Cells(required, forbidden, used, torch.where(tell, number, -1))
        found.append((cells, cells.weigh(log_weight)))
    return torch.stack(events, 1)


def _take(found: list[tuple[_Cells, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """One cell of each item, drawn and taken out: its required and forbidden parts, and if there was one."""
    log_weights = torch.cat([weights for _, weights in found])
    left = log_weights.amax(0) > -torch.inf
    chosen = (log_weights + gumbel_noise(log_weights)).argmax(0)
    required, forbidden = (torch.zeros_like(found[0][0].used) for _ in range(2))
    first = 0
    for cells, weights in found:
        index = chosen - first
        here = (index >= 0) & (index < len(weights)) & left
        for total, mask in zip((required, forbidden), cells.masks(index), strict=True):
            total |= _as_column(here, mask) & mask
        items = here.nonzero().squeeze(1)
        weights[index[items], items] = -torch.inf
        first += len(weights)
    return required, forbidden, left


def _as_column(values: Tensor, like: Tensor) -> Tensor:
    """One value for each item, so that it broadcasts to a tensor ``(batch, ...)``."""
    return values.reshape(-1, *(1,) * (like.dim() - 1))
