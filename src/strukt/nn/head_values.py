"""What a word may depend on beside the other words: a root, and global features."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Root(nn.Module):
    """A root with a label of its own, which may be the head of every word.

    Args:
        words: d, labels of words.
        channels: h.
        labels: d_root, labels of the root.
    """

    def __init__(self, words: int, channels: int, labels: int) -> None:
        super().__init__()
        self.labels = labels
        self.table = nn.Parameter(torch.randn(channels, words, labels))

    def forward(self, words: Tensor, root: Tensor) -> Tensor:
        """The expected score of the root as head: ``(batch, h, n)``.

        Args:
            words: ``(batch, n, d)``, the distribution of each label.
            root: ``(batch, d_root)``, that of the root's.
        """
        return torch.einsum("bnd,hde,be->bhn", words, self.table, root)

    def to_labels(self, heads: Tensor, root: Tensor) -> Tensor:
        """What the root tells its dependents, ``(batch, n, d)``; ``heads (batch, h, n)`` are its probabilities."""
        return torch.einsum("bhn,hde,be->bnd", heads, self.table, root)

    def to_root(self, heads: Tensor, words: Tensor) -> Tensor:
        """What the dependents tell the root, ``(batch, d_root)``."""
        return torch.einsum("bhn,bnd,hde->be", heads, words, self.table)


class GlobalFeatures(nn.Module):
    """Features of which each word, in each channel, chooses one: B^(c)[k, Z_i] is the score of the choice of k.

    Args:
        labels: d.
        channels: h, or 1 for one choice.
        count: m.

    Scores start with standard deviation 1/sqrt(d), for the messages that they make are multiplied by d.
    """

    def __init__(self, labels: int, channels: int, count: int) -> None:
        super().__init__()
        self.channels, self.count = channels, count
        self.table = nn.Parameter(torch.randn(channels, count, labels) * labels**-0.5)

    def forward(self, labels: Tensor) -> Tensor:
        """The expected score of each feature, ``(batch, h, n, m)``, from ``(batch, n, d)``."""
        return torch.einsum("bnd,hmd->bhnm", labels, self.table)

    def to_labels(self, choices: Tensor) -> Tensor:
        """What the features tell the words that chose them: from ``(batch, h, n, m)`` to ``(batch, n, d)``."""
        return torch.einsum("bhnm,hmd->bnd", choices, self.table)
