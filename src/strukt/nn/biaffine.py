"""Biaffine scores of pairs of vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.checks import arguments
from strukt.nn.inputs import require_sizes


class Biaffine(nn.Module):
    """A biaffine layer: a bilinear form with bias in both arguments, `[x; 1]^T W_k [y; 1]`, for each output k.

    The weights W_k start at 0, so that all scores do.

    Source: Dozat and Manning (2017), "Deep biaffine attention for neural dependency parsing".

    Args:
        left: Size of the first vector.
        right: Size of the second vector.
        outputs: Number of scores per pair.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> arcs = Biaffine(16, 16, 1)
        >>> arcs(torch.randn(2, 5, 16), torch.randn(2, 6, 16)).shape
        torch.Size([2, 5, 6, 1])
    """

    def __init__(self, left: int, right: int, outputs: int) -> None:
        super().__init__()
        require_sizes(left=left, right=right, outputs=outputs)
        # Scores start at 0: every structure is equally likely, for all sizes.
        self.weight = nn.Parameter(torch.zeros(outputs, left + 1, right + 1))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Score every pair.

        Args:
            left: `(*batch, n, left)`, n vectors.
            right: `(*batch, m, right)`, m vectors.

        Returns:
            `(*batch, n, m, outputs)`, in `O(n (m + left) outputs right)` time.

        Raises:
            ValueError: If a shape is wrong, or a tensor is not floating-point.
        """
        self._require(left, right, left.shape[:-2] == right.shape[:-2])
        projected = self._project(left)
        return torch.einsum("...nke,...me->...nmk", projected, _with_one(right))

    def aligned(self, left: Tensor, right: Tensor) -> Tensor:
        """Score the i-th left vector with the i-th right vector only.

        Args:
            left: `(*batch, n, left)`.
            right: `(*batch, n, right)`.

        Returns:
            `(*batch, n, outputs)`.

        Raises:
            ValueError: If a shape is wrong, or a tensor is not floating-point.

        Examples:
            >>> labels = Biaffine(4, 4, 3)
            >>> _ = torch.nn.init.normal_(labels.weight)
            >>> x, y = torch.randn(5, 4), torch.randn(5, 4)
            >>> torch.allclose(labels.aligned(x, y), labels(x, y).diagonal(dim1=0, dim2=1).T, atol=1e-5)
            True
        """
        self._require(left, right, left.shape[:-1] == right.shape[:-1])
        projected = self._project(left)
        return torch.einsum("...nke,...ne->...nk", projected, _with_one(right))

    def _project(self, left: Tensor) -> Tensor:
        """Multiply left vectors by the weights, in one matrix product: `(*batch, n, outputs, right + 1)`."""
        outputs, size, other = self.weight.shape
        matrix = self.weight.transpose(0, 1).reshape(size, outputs * other)
        return (_with_one(left) @ matrix).reshape(*left.shape[:-1], outputs, other)

    def _require(self, left: Tensor, right: Tensor, same_batch: bool) -> None:
        """Check shapes. Batch axes do not broadcast: a difference is usually a mistake."""
        sizes = {"left": (left, self.weight.shape[1] - 1), "right": (right, self.weight.shape[2] - 1)}
        for name, (vectors, size) in sizes.items():
            arguments.scores(name, vectors, f"(*batch, n, {size})", 2)
            if vectors.shape[-1] != size:
                raise ValueError(f"{name} has shape {tuple(vectors.shape)}; expected (*batch, n, {size})")
        if not same_batch:
            raise ValueError(
                f"right has shape {tuple(right.shape)}, which does not fit left of shape {tuple(left.shape)}; "
                "expected the same batch axes, and for aligned vectors the same n"
            )


def _with_one(x: Tensor) -> Tensor:
    return functional.pad(x, (0, 1), value=1.0)
