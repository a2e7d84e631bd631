"""Scores of pairs of vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Biaffine(nn.Module):
    """A bilinear form with bias in both arguments, `[x; 1]^T W_k [y; 1]`, one per output.

    Source: Dozat and Manning (2017), "Deep biaffine attention for neural dependency parsing".

    Args:
        left: Size of the first vector.
        right: Size of the second vector.
        outputs: Number of scores per pair.

    Examples:
        >>> arcs = Biaffine(16, 16, 1)
        >>> arcs(torch.randn(2, 5, 16), torch.randn(2, 6, 16)).shape
        torch.Size([2, 5, 6, 1])
    """

    def __init__(self, left: int, right: int, outputs: int) -> None:
        super().__init__()
        # Zero scores at the start: every structure is equally likely, whatever the sizes.
        self.weight = nn.Parameter(torch.zeros(outputs, left + 1, right + 1))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Scores every pair.

        Args:
            left: `(*batch, n, left)`.
            right: `(*batch, m, right)`.

        Returns:
            `(*batch, n, m, outputs)`; `O(n m)` time for each output and feature.
        """
        projected = torch.einsum("...nd,kde->...nke", _with_one(left), self.weight)
        return torch.einsum("...nke,...me->...nmk", projected, _with_one(right))

    def aligned(self, left: Tensor, right: Tensor) -> Tensor:
        """Scores the i-th left vector with the i-th right vector only.

        Args:
            left: `(*batch, n, left)`.
            right: `(*batch, n, right)`.

        Returns:
            `(*batch, n, outputs)`.

        Examples:
            >>> labels = Biaffine(4, 4, 3)
            >>> x, y = torch.randn(5, 4), torch.randn(5, 4)
            >>> torch.equal(labels.aligned(x, y), labels(x, y).diagonal(dim1=0, dim2=1).T)
            True
        """
        projected = torch.einsum("...nd,kde->...nke", _with_one(left), self.weight)
        return torch.einsum("...nke,...ne->...nk", projected, _with_one(right))


def _with_one(x: Tensor) -> Tensor:
    return functional.pad(x, (0, 1), value=1.0)
