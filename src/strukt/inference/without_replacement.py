"""Sampling structures without replacement: each sample excludes the structures drawn before it.

The remaining structures are partitioned into cells; a cell is defined by required and forbidden parts. Drawing a
structure from a cell splits the rest of the cell into new cells, one for each part that distinguishes the
structure: in cell t, the first t of these parts agree with the structure and the next one differs (as in the
k-best enumeration of Lawler 1972).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.inference.perturb_and_map import gumbel_noise


@dataclass(frozen=True)
class _Cells:
    """The cells that an old cell is split into when a structure is drawn from it, for each item of a batch.

    Attributes:
        required: The required parts of the old cell, ``(batch, *parts)``.
        forbidden: The forbidden parts of the old cell, ``(batch, *parts)``.
        used: The parts of the structure, ``(batch, *parts)``.
        rank: The number, from 0, of each part that distinguishes the structure, which is also the index of the
            part's cell; -1 for all other parts. ``(batch, *parts)``.
    """

    required: Tensor
    forbidden: Tensor
    used: Tensor
    rank: Tensor

    @property
    def count(self) -> int:
        """The number of cells of the item with the most."""
        return int(self.rank.max()) + 1 if self.rank.numel() else 0

    def masks(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return the required and the forbidden parts of one cell of each item, by its index ``(batch,)``."""
        index = _as_column(index, self.rank)
        agrees, differs = (self.rank >= 0) & (self.rank < index), self.rank == index
        required = self.required | (agrees & self.used) | (differs & ~self.used)
        return required, self.forbidden | (agrees & ~self.used) | (differs & self.used)

    def weigh(self, log_weight: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Return the log-partition of each cell, ``(count, batch)``; -inf where an item has fewer cells."""
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
    distinguishing: Callable[[Tensor], Tensor],
    device: torch.device,
) -> Tensor:
    """Draw k distinct events; return them in the order drawn, ``(batch, k, *event)``, padded with -1.

    Args:
        k: The number of events, 1 or more.
        parts_shape: ``(batch, *parts)``.
        log_weight: Function of required and forbidden parts, ``(batch, *parts)`` each, to log-partitions
            ``(batch,)``.
        draw: Function of required and forbidden parts to one sample ``(batch, *event)`` for each item; any event
            if no structure remains.
        to_parts: Function of events to their 0/1 parts ``(batch, *parts)``.
        distinguishing: Function of the parts of a structure to the parts that distinguish it from all others,
            ``(batch, *parts)`` each: the same parts, if no structure contains all parts of another.
        device: The device of the masks.

    Complexity: One log-partition for each distinguishing part of each structure drawn. Drawing ends when no item
    has structures left.
    """
    nothing = torch.zeros(parts_shape, dtype=torch.bool, device=device)
    everything = _Cells(nothing, nothing, nothing, nothing.long() - 1)
    open_cells = [(everything, log_weight(nothing, nothing).unsqueeze(0))]
    events = []
    for _ in range(k):
        required, forbidden, left = _take(open_cells)
        event = draw(required, forbidden)
        events.append(torch.where(_as_column(left, event), event, -1))
        used = to_parts(event) > 0
        numbered = distinguishing(used) & _as_column(left, used)
        number = numbered.flatten(1).cumsum(1).reshape(numbered.shape) - 1
        cells = _Cells(required, forbidden, used, torch.where(numbered, number, -1))
        open_cells.append((cells, cells.weigh(log_weight)))
        if not bool(left.any()):  # nor in any later round
            break
    drawn = torch.stack(events, 1)
    missing = drawn.new_full((len(drawn), k - len(events), *drawn.shape[2:]), -1)
    return torch.cat([drawn, missing], 1)


def _take(open_cells: list[tuple[_Cells, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """Draw a cell of each item in proportion to its weight, and remove it by setting its log-weight to -inf.

    Args:
        open_cells: Cells and their log-weights ``(count, batch)``, which are modified.

    Returns:
        The required and the forbidden parts of the drawn cells, and a mask ``(batch,)`` of the items that still
        had a cell.
    """
    log_weights = torch.cat([weights for _, weights in open_cells])
    left = log_weights.amax(0) > -torch.inf
    chosen = (log_weights + gumbel_noise(log_weights)).argmax(0)
    required, forbidden = (torch.zeros_like(open_cells[0][0].used) for _ in range(2))
    first = 0
    for cells, weights in open_cells:
        index = chosen - first
        here = (index >= 0) & (index < len(weights)) & left
        for total, mask in zip((required, forbidden), cells.masks(index), strict=True):
            total |= _as_column(here, mask) & mask
        items = here.nonzero().squeeze(1)
        weights[index[items], items] = -torch.inf
        first += len(weights)
    return required, forbidden, left


def _as_column(values: Tensor, like: Tensor) -> Tensor:
    """Reshape values ``(batch,)`` to broadcast to a tensor ``(batch, ...)``."""
    return values.reshape(-1, *(1,) * (like.dim() - 1))
