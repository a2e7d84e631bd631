"""Sampling structures without replacement: each sample excludes the structures drawn before it.

The remaining structures are partitioned into cells, each defined by required and forbidden parts. When a structure
is drawn from a cell, the remainder of the cell is split into new cells, one for each part that distinguishes the
structure: in cell t, the first t of these parts agree with the structure and the next one differs (as in Lawler's
1972 enumeration of the k best).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.inference.perturbation import gumbel_noise


@dataclass(frozen=True)
class _Cells:
    """The cells into which the remainder of a cell falls after one structure was drawn from it, for each item.

    Attributes:
        required: Parts required in the old cell, ``(batch, *parts)``.
        forbidden: Parts forbidden in it.
        used: Parts of the structure drawn.
        rank: The number, from 0, of each part that distinguishes the structure; -1 for all other parts.
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
        """Return the required and the forbidden parts of one cell of each item, by its index ``(batch,)``."""
        index = _as_column(index, self.rank)
        same, other = (self.rank >= 0) & (self.rank < index), self.rank == index
        required = self.required | (same & self.used) | (other & ~self.used)
        return required, self.forbidden | (same & ~self.used) | (other & self.used)

    def weigh(self, log_weight: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Return the log-partition of each cell, ``(count, batch)``; -inf where an item has fewer."""
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
    """Return distinct events ``(batch, k, *event)`` in the order in which they were drawn, padded with -1.

    Args:
        k: The number of events.
        parts_shape: ``(batch, *parts)``.
        log_weight: Function of required and forbidden parts, ``(batch, *parts)`` each, to log-partitions
            ``(batch,)``.
        draw: Function of required and forbidden parts to one sample of each item ``(batch, *event)``; any event
            for an item of weight zero.
        to_parts: Function of events to their 0/1 parts ``(batch, *parts)``.
        telling: Function of used parts to the parts that distinguish the structure from all others,
            ``(batch, *parts)`` each: the used parts themselves, if no structure contains all parts of another.
        device: The device of the masks.

    Computes k log-partitions for each distinguishing part.
    """
    nothing = torch.zeros(parts_shape, dtype=torch.bool, device=device)
    everything = _Cells(nothing, nothing, nothing, nothing.long() - 1)
    result = [(everything, log_weight(nothing, nothing).unsqueeze(0))]
    events = []
    for _ in range(k):
        required, forbidden, left = _take(result)
        event = draw(required, forbidden)
        events.append(torch.where(_as_column(left, event), event, -1))
        used = to_parts(event) > 0
        tell = telling(used) & _as_column(left, used)
        number = tell.flatten(1).cumsum(1).reshape(tell.shape) - 1
        cells = _Cells(required, forbidden, used, torch.where(tell, number, -1))
        result.append((cells, cells.weigh(log_weight)))
    return torch.stack(events, 1)


def _take(found: list[tuple[_Cells, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """Draw and remove a cell of each item; return its required and forbidden parts, and which items had one."""
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
    """Reshape one value for each item to broadcast to a tensor ``(batch, ...)``."""
    return values.reshape(-1, *(1,) * (like.dim() - 1))
