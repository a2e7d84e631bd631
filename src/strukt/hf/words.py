"""Positions of the words of a batch among the pieces that an encoder reads."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.nn.encoders import mask_of

IGNORED = -100
"""The label of pieces without a label, as in all of transformers."""


def first_pieces(words: Tensor) -> Tensor:
    """Find the first piece of each word.

    Args:
        words: `(batch, pieces)`, the word index of each piece; below 0 for special pieces and padding.

    Returns:
        `(batch, pieces)`, True at first pieces. A word whose pieces are not contiguous begins again after the gap.

    Examples:
        >>> first_pieces(torch.tensor([[-1, 0, 0, 1, 3, -1]])).int()
        tensor([[0, 1, 0, 1, 1, 0]], dtype=torch.int32)
    """
    before = torch.nn.functional.pad(words[:, :-1], (1, 0), value=-1)
    return (words >= 0) & (words != before)


@dataclass(frozen=True)
class WordPlaces:
    """The position of each word's first piece in the rows of a batch.

    Attributes:
        first: `(batch, n)`, the position of the word's first piece; 0 in padding.
        lengths: `(batch,)`, the numbers of words.
        pieces: Number of pieces of a row, including padding.
    """

    first: Tensor
    lengths: Tensor
    pieces: int

    @classmethod
    def of(cls, starts: Tensor) -> WordPlaces:
        """Collect the positions of first pieces; rows may be padded on either side.

        Args:
            starts: `(batch, pieces)`, True at the first piece of each word.

        Examples:
            >>> places = WordPlaces.of(torch.tensor([[False, True, True], [False, False, True]]))
            >>> places.first, places.lengths
            (tensor([[1, 2],
                    [2, 0]]), tensor([2, 1]))
        """
        lengths = starts.sum(-1)
        n = int(lengths.max()) if lengths.numel() else 0
        first = starts.int().argsort(dim=-1, descending=True, stable=True)[:, :n]
        return cls(first.masked_fill(~mask_of(lengths, n), 0), lengths, starts.shape[1])

    @property
    def inside(self) -> Tensor:
        """A mask that is true for words and false in padding, `(batch, n)`."""
        return mask_of(self.lengths, self.first.shape[1])

    def gather(self, values: Tensor, fill: float = 0) -> Tensor:
        """Gather the value of each word from its first piece.

        Args:
            values: `(batch, pieces, ...)`, a value for each piece.
            fill: The value in padding.

        Returns:
            `(batch, n, ...)`, a value for each word.
        """
        taken = values.take_along_dim(_beside(self.first, values), 1)
        return taken.masked_fill(~_beside(self.inside, values), fill)

    def scatter(self, values: Tensor, fill: float) -> Tensor:
        """Scatter the value of each word to its first piece.

        Args:
            values: `(batch, n, ...)`, a value for each word.
            fill: The value of all other pieces.

        Returns:
            `(batch, pieces, ...)`, a value for each piece.
        """
        batch, _, *rest = values.shape
        target = values.new_full((batch, self.pieces + 1, *rest), fill)
        index = self.first.masked_fill(~self.inside, self.pieces)  # an extra column takes the padding, then is cut
        return target.scatter(1, _beside(index, values).expand_as(values), values)[:, : self.pieces]


def _beside(index: Tensor, values: Tensor) -> Tensor:
    """Append dimensions of size 1 to an index `(batch, n)`, until it has as many as `values`."""
    return index.reshape(*index.shape, *(1,) * (values.dim() - 2))


def require_form(name: str, value: Tensor, pieces: torch.Size, axes: str) -> None:
    """Raise ValueError if a tensor for pieces `(batch, pieces)` does not have the shape `axes`.

    Args:
        name: The name of the tensor, for the error.
        value: The tensor, such as labels.
        pieces: The shape of the input, `(batch, pieces)`.
        axes: The expected shape, such as "(batch, pieces, 2)"; the axis `spans` may have any size.
    """
    sizes = axes.strip("()").split(", ")
    fits = value.dim() == len(sizes) and value.shape[0] == pieces[0]
    fits = fits and all(
        size == (pieces[1] if axis == "pieces" else int(axis))
        for axis, size in zip(sizes[1:], value.shape[1:], strict=True)
        if axis != "spans"
    )
    if not fits:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}; expected {axes}, where (batch, pieces) is {tuple(pieces)}"
        )
