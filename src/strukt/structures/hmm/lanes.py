"""The words of a batch time by time, with the longest sentence first.

So the sentences that have a word at some time are the first ones.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Lanes(NamedTuple):
    """A batch of sentences without its padding.

    Attributes:
        words: ``(tokens,)``, the first words of all sentences, then the second words, and so on.
        order: ``(batch,)``, the indices of the sentences, longest first. "In order" below means in this order.
        sizes: The number of sentences with a word at each time, and a final 0.
        offsets: The row of ``words`` where each time begins, and finally the number of words.
    """

    words: Tensor
    order: Tensor
    sizes: list[int]
    offsets: list[int]

    @property
    def duration(self) -> int:
        """The length of the longest sentence."""
        return len(self.sizes) - 1

    @property
    def within(self) -> Tensor:
        """A mask of the sentences, in order, that have a word at each time: ``(n, b)``."""
        sizes = torch.tensor(self.sizes[:-1], device=self.words.device)
        return torch.arange(self.sizes[0], device=self.words.device) < sizes.unsqueeze(1)

    @property
    def ends(self) -> Tensor:
        """The rows of ``words`` with the last word of each sentence of two or more words, in order."""
        within = self.within
        last = within[:, within[1]].sum(0) - 1
        return torch.tensor(self.offsets, device=last.device)[last] + torch.arange(
            len(last), device=last.device
        )

    def rows(self, time: int) -> slice:
        """Return the range of ``words`` at a time."""
        return slice(self.offsets[time], self.offsets[time + 1])

    def ending(self, time: int) -> slice:
        """Return the range of sentences, in order, whose last word is at a time."""
        return slice(self.sizes[time + 1], self.sizes[time])

    def totals(self, values: Tensor) -> Tensor:
        """Sum the values ``(tokens,)`` of each sentence; return the sums in the order of the batch."""
        sentence = torch.arange(len(values), device=values.device) - self._firsts(values.device)
        return values.new_zeros(len(self.order)).index_add_(0, self.order[sentence], values)

    def _firsts(self, device: torch.device) -> Tensor:
        """Return, for each word, the row of ``words`` where its time begins: ``(tokens,)``."""
        offsets = torch.tensor(self.offsets, device=device)
        return offsets[:-1].repeat_interleave(offsets.diff())


def lanes(words: Tensor, lengths: Tensor) -> Lanes:
    """Return the words ``(batch, n)`` within the lengths ``(batch,)`` as `Lanes`.

    Examples:
        >>> result = lanes(torch.tensor([[1, -1, -1], [2, 3, 4]]), torch.tensor([1, 3]))
        >>> result.words, result.sizes
        (tensor([2, 1, 3, 4]), [2, 1, 1, 0])
    """
    batch, n = words.shape
    if bool((lengths == n).all()):
        sizes = [batch] * n if batch else []
        order = torch.arange(batch, device=words.device)
        return Lanes(words.mT.flatten(), order, [*sizes, 0], [batch * time for time in range(len(sizes) + 1)])
    order = lengths.argsort(descending=True, stable=True)
    times = torch.arange(words.shape[1], device=words.device)
    going_on = times[:, None] < lengths[order]
    sizes = [size for size in going_on.sum(1).tolist() if size]
    offsets = torch.tensor([0, *sizes]).cumsum(0).tolist()
    return Lanes(words[order].mT[going_on], order, [*sizes, 0], offsets)
