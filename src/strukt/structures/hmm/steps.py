"""One step of a Markov chain whose transition matrix is a matrix or a product of two, a band, or their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from strukt.structures.hmm import band as bands
from strukt.structures.hmm import few_rows

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class Steps(NamedTuple):
    """The transition matrix ``first @ last + band`` in the form that is fastest for products.

    Attributes:
        first: ``(z, r)``, or None if the matrix has no factors.
        last: ``(r, z)``, or ``(z, z)`` if it has no factors, or None if there is only a band.
        blocks: The band in blocks (see `strukt.structures.hmm.band`), or None.
        group: The processes over which states are distributed and messages summed; or None.
    """

    first: Tensor | None
    last: Tensor | None
    blocks: Tensor | None
    group: ProcessGroup | None = None

    @property
    def compact(self) -> bool:
        """True if messages have r entries instead of z: the matrix has factors and no band."""
        return self.first is not None and self.blocks is None

    @property
    def rank_size(self) -> int:
        """The number of features, r; 0 without factors."""
        return 0 if self.first is None else self.first.shape[1]

    def width(self, states: int) -> int:
        """Return the number of entries of a message, given that of states."""
        return self.rank_size if self.compact else states

    def message(self, state: Tensor) -> Tensor:
        """Return the messages of distributions of states ``(b, z)``.

        If `compact`, these are the weights of features ``(b, r)``, otherwise the distributions themselves.
        """
        if self.first is None or self.blocks is not None:
            return state
        message = product(state, self.first)
        if self.group is not None:
            torch.distributed.all_reduce(message, group=self.group)
        return message

    def total(self, state: Tensor, message: Tensor) -> Tensor:
        """Return the sum over states, ``(b,)``; with a group, the last feature of the message holds it."""
        return state.sum(1) if self.group is None else message[:, -1]

    def rank(self, message: Tensor) -> Tensor:
        """Return the weights of features ``(b, r)``, from a message; without factors, the message."""
        return message if self.first is None or self.compact else product(message, self.first)

    def advance(self, message: Tensor) -> Tensor:
        """Return the distributions of the next states, ``(b, z)``, from a message."""
        nearby = None if self.blocks is None else bands.times(message, self.blocks)
        if self.last is None:
            assert nearby is not None
            return nearby
        ahead = product(self.rank(message), self.last)
        return ahead if nearby is None else ahead + nearby

    def transposed(self) -> Steps:
        """Return the steps of the transposed matrix ``(first @ last).mT``, without the band."""
        if self.last is None or self.first is None:
            return Steps(None, None if self.last is None else self.last.mT, None)
        return Steps(self.last.mT, self.first.mT, None, self.group)

    def laid_out(self, rows: int) -> Steps:
        """Return the same steps with matrices in the memory layout that is fastest for ``rows`` rows."""
        first, last = (
            None if factor is None else few_rows.laid_out(factor, rows) for factor in (self.first, self.last)
        )
        return Steps(first, last, self.blocks, self.group)


def steps(
    matrices: tuple[Tensor, ...],
    band: Tensor | None,
    storage: torch.dtype | None = None,
    group: ProcessGroup | None = None,
) -> Steps:
    """Return a transition matrix as `Steps`: its factors in the type of storage, and its band in blocks.

    Args:
        matrices: The factors of the transition matrix: ``(z, z)``, or ``(z, r)`` and ``(r, z)``, or an
            empty tuple.
        band: ``(z, 2 w + 1)``, added to the product of the factors, or None; see `strukt.structures.hmm.band`.
        storage: The type to store the matrices in; None for their own. Products round the states to this type, and
            are returned in the type of the states. On devices other than CUDA, and for a band,
            the results are also rounded to it.
        group: The processes over which states are distributed, or None.
    """
    kept = [matrix if storage is None else matrix.to(storage) for matrix in matrices]
    blocks = None if band is None else bands.to_blocks(band if storage is None else band.to(storage))
    return Steps(kept[0] if len(kept) == 2 else None, kept[-1] if kept else None, blocks, group)


def retreat(following: Tensor, moving: Steps, back: Steps) -> Tensor:
    """Return ``following @ matrix.mT``, a backward step ``(b, z)``; ``back`` is ``moving.transposed()``."""
    nearby = None if moving.blocks is None else bands.times_transpose(following, moving.blocks)
    if back.last is None:
        assert nearby is not None
        return nearby
    ahead = back.advance(back.message(following))
    return ahead if nearby is None else ahead + nearby


def columns(moving: Steps, band: Tensor | None, targets: Tensor) -> Tensor:
    """Return the columns of the transition matrix at states ``targets (m,)``, as rows ``(m, z)``."""
    result = None
    if moving.last is not None:
        rows = moving.last[:, targets].mT
        result = rows if moving.first is None else rows @ moving.first.mT
    if band is None:
        assert result is not None
        return result
    w = band.shape[1] // 2
    source = targets.unsqueeze(1) - w + torch.arange(2 * w + 1, device=band.device)
    inside = (source >= 0) & (source < len(band))
    source = source.clamp(0, len(band) - 1)
    entries = torch.where(inside, band[source, (targets.unsqueeze(1) - source + w).clamp(0, 2 * w)], 0.0)
    nearby = band.new_zeros(len(targets), len(band)).scatter_add(1, source, entries)
    return nearby if result is None else result + nearby


def product(rows: Tensor, matrix: Tensor) -> Tensor:
    """Return ``rows @ matrix`` in the type of the rows."""
    if matrix.dtype == rows.dtype:
        return few_rows.product(rows, matrix)
    if rows.device.type == "cuda":
        return torch.mm(rows.to(matrix.dtype), matrix, out_dtype=rows.dtype)
    return (rows.to(matrix.dtype) @ matrix).to(rows.dtype)
