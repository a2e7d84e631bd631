"""Numba kernels that check and locate subsets: see `strukt.structures.events`."""

from __future__ import annotations

from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import kernel
from strukt.structures.events.cpu_calls import mask_of, places_of


def are_subsets(taken: Tensor, lengths: Tensor, smallest: Tensor, largest: Tensor) -> Tensor:
    return mask_of(_are_subsets, taken, lengths, smallest, largest)


@kernel
def _are_subsets(taken: Array, lengths: Array, smallest: Array, largest: Array, are_valid: Array) -> None:
    """Write to ``are_valid`` True for rows of 0 and 1 with a permitted number of ones, else False.

    Arrays: ``taken (rows, n)``; ``lengths``, ``smallest``, ``largest``, and the result ``are_valid (rows,)``.
    """
    for row in range(len(taken)):
        size, marked = 0, True
        for item in range(lengths[row]):
            size += taken[row, item]
            marked &= taken[row, item] == 0 or taken[row, item] == 1
        are_valid[row] = marked and smallest[row] <= size <= largest[row]


def item_places(taken: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    return places_of(_item_places, taken.shape, taken, lengths)


@kernel
def _item_places(taken: Array, lengths: Array, present: Array, absent: Array) -> None:
    """Write the places of items that are taken to ``present``, and those of items left out to ``absent``.

    Arrays: ``taken (rows, n)``, ``lengths (rows,)``, and the results ``present`` and ``absent (rows, n)``, whose
    other entries are not written.
    """
    for row in range(len(taken)):
        for item in range(lengths[row]):
            chosen = present if taken[row, item] == 1 else absent
            chosen[row, item] = item
