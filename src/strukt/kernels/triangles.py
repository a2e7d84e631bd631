"""Products for the pairs of positions above the diagonal, and other products for those below it.

Only blocks on the diagonal compute products of all pairs and discard half of them; all other blocks lie in one of
the triangles. So both triangles together take little more time than one product for all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor


def products(above: tuple[Tensor, Tensor], below: tuple[Tensor, Tensor]) -> Tensor:
    """Return the products of rows i and j, with separate rows for j > i and for j < i.

    Args:
        above: Left and right rows for j > i, ``(batch, n, h, r)`` each.
        below: Left and right rows for j < i, ``(batch, n, h, r)`` each.

    Returns:
        ``(batch, h, n, n)``, 0 where j is i; O(n^2 h r) time.

    Examples:
        >>> one, two = torch.ones(1, 3, 1, 1), torch.full((1, 3, 1, 1), 2.0)
        >>> products((one, one), (one, two))[0, 0]
        tensor([[0., 1., 1.],
                [2., 0., 1.],
                [2., 2., 0.]])
    """
    first, third = _by_channel(above[0], below[0])
    second, fourth = _by_channel(above[1], below[1])
    batch, channels, n, _ = first.shape
    result = first.new_empty(batch, channels, n, n)
    for start, end in _blocks(n):
        block = slice(start, end)
        into = result[:, :, block]
        into[..., end:] = first[:, :, block] @ second[:, :, end:].mT
        into[..., :start] = third[:, :, block] @ fourth[:, :, :start].mT
        corner = (first[:, :, block] @ second[:, :, block].mT).triu_(1)
        into[..., block] = corner.add_((third[:, :, block] @ fourth[:, :, block].mT).tril_(-1))
    return result


def sums(pairs: Tensor, above: Tensor, below: Tensor) -> tuple[Tensor, Tensor]:
    """Return, for each i, the sums of the rows of all j > i, and of all j < i, weighted by the pairs i, j.

    Args:
        pairs: ``(batch, h, n, n)``, the weight of each pair.
        above: The rows of j > i, ``(batch, n, h, r)``.
        below: The rows of j < i, ``(batch, n, h, r)``.

    Returns:
        Two tensors ``(batch, n, h, r)``; O(n^2 h r) time.
    """
    upper, lower = _by_channel(above, below)
    from_upper, from_lower = torch.empty_like(above), torch.empty_like(below)
    for start, end in _blocks(pairs.shape[-1]):
        block = slice(start, end)
        of_block = pairs[:, :, block]
        corner = of_block[..., block]
        result = corner.triu(1) @ upper[:, :, block]
        from_upper[:, block] = result.add_(of_block[..., end:] @ upper[:, :, end:]).transpose(1, 2)
        result = corner.tril(-1) @ lower[:, :, block]
        from_lower[:, block] = result.add_(of_block[..., :start] @ lower[:, :, :start]).transpose(1, 2)
    return from_upper, from_lower


def _by_channel(above: Tensor, below: Tensor) -> tuple[Tensor, Tensor]:
    """Return both as contiguous ``(batch, h, n, r)``, which products need; often both are the same tensor."""
    result = above.transpose(1, 2).contiguous()
    return result, result if below is above else below.transpose(1, 2).contiguous()


def _blocks(n: int) -> Iterator[tuple[int, int]]:
    """Return (start, end) of blocks of 32 to 64 rows; the last one may be shorter."""
    size = max(32, min(64, n // 4))
    return ((start, min(start + size, n)) for start in range(0, n, size))
