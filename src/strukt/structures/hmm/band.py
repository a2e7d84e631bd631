"""Products with a band matrix, as batched products of dense blocks.

Entry ``[i, d]`` of a band ``(z, 2 w + 1)`` is the entry of the matrix in row i and column i + d - w; entries
outside the matrix are ignored. The columns (target states) are cut into groups of k >= w states. A group is
reached only from the k + 2 w source states around it, so that a step is one batched matrix product with ``blocks
(groups, k + 2 w, k)``. For w >= 16 these are about one and a half times as large as the band, for smaller w up to
16 times.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

SMALLEST = 16
"""The least number of states in a group: narrower products are slower than a few multiplications by zero."""


def to_blocks(band: Tensor) -> Tensor:
    """Return the blocks ``(groups, k + 2 w, k)`` of a band ``(z, 2 w + 1)``."""
    z, w, k, groups = _sizes(band)
    first = torch.arange(groups, device=band.device).view(-1, 1, 1) * k
    source = first - w + torch.arange(k + 2 * w, device=band.device).view(1, -1, 1)
    target = first + torch.arange(k, device=band.device)
    inside = (source >= 0) & (source < z) & (target < z) & ((target - source).abs() <= w)
    place = source * (2 * w + 1) + target - source + w
    result = band.reshape(-1)[torch.where(inside, place, 0)]
    return torch.where(inside, result, torch.zeros_like(result))


def from_blocks(blocks: Tensor, band: Tensor) -> Tensor:
    """Return the entries of ``blocks`` in the shape of ``band``, 0 outside the matrix: adjoint of `to_blocks`."""
    z, w, k, _ = _sizes(band)
    source = torch.arange(z, device=band.device).view(-1, 1)
    target = source + torch.arange(2 * w + 1, device=band.device) - w
    inside = (target >= 0) & (target < z)
    group = torch.where(inside, target, 0) // k
    row, column = source - group * k + w, target - group * k
    place = torch.where(inside, (group * (k + 2 * w) + row) * k + column, 0)
    return torch.where(inside, blocks.reshape(-1)[place], 0.0)


def windows(rows: Tensor, blocks: Tensor) -> Tensor:
    """Return the entries of rows ``(b, z)`` at the sources of each group, ``(groups, b, k + 2 w)``."""
    groups, wide, k = blocks.shape
    w = (wide - k) // 2
    return pad(rows, (w, groups * k - rows.shape[1] + w)).unfold(1, wide, k).transpose(0, 1)


def groups_of(rows: Tensor, blocks: Tensor) -> Tensor:
    """Return the entries of rows ``(b, z)`` at the targets of each group, ``(groups, b, k)``."""
    groups, _, k = blocks.shape
    return pad(rows, (0, groups * k - rows.shape[1])).view(len(rows), groups, k).transpose(0, 1)


def times(rows: Tensor, blocks: Tensor) -> Tensor:
    """Return ``rows @ matrix``: ``(b, z)``.

    Examples:
        >>> band = torch.tensor([[9.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 9.0]])
        >>> times(torch.eye(3), to_blocks(band))
        tensor([[1., 2., 0.],
                [3., 4., 5.],
                [0., 6., 7.]])
    """
    result = torch.bmm(windows(rows.to(blocks.dtype), blocks), blocks).to(rows.dtype)
    return result.transpose(0, 1).flatten(1)[:, : rows.shape[1]]


def times_transpose(rows: Tensor, blocks: Tensor) -> Tensor:
    """Return ``rows @ matrix.mT``: ``(b, z)``."""
    groups, wide, k = blocks.shape
    result = torch.bmm(groups_of(rows.to(blocks.dtype), blocks), blocks.mT).to(rows.dtype)
    thirds = pad(result, (0, 3 * k - wide)).view(groups, len(rows), 3, k)  # each group overlaps the next two
    total = rows.new_zeros(groups + 2, len(rows), k)
    for third in range(3):
        total[third : groups + third] += thirds[:, :, third]
    first = (wide - k) // 2
    return total.transpose(0, 1).flatten(1)[:, first : first + rows.shape[1]]


def dense(band: Tensor) -> Tensor:
    """Return the dense matrix ``(z, z)`` of a band."""
    z = len(band)
    return times(torch.eye(z, dtype=band.dtype, device=band.device), to_blocks(band))


def _sizes(band: Tensor) -> tuple[int, int, int, int]:
    """Return the number of states z, the half-width w, the number k of states in a group, and that of groups."""
    z, w = len(band), band.shape[1] // 2
    k = max(w, min(SMALLEST, z))
    return z, w, k, -(-z // k)
