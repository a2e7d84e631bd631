"""Heads of words other than words: a root, and global features."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Root(nn.Module):
    """A root with its own label, which may be the head of every word.

    Args:
        words: Number of labels of words, d.
        channels: Number of channels, h.
        labels: Number of labels of the root, d_root.
    """

    def __init__(self, words: int, channels: int, labels: int) -> None:
        super().__init__()
        self.labels = labels
        self.table = nn.Parameter(torch.randn(channels, words, labels))

    def forward(self, words: Tensor, root: Tensor) -> Tensor:
        """Return the expected score of the root as head: ``(batch, h, n)``.

        Args:
            words: ``(batch, n, d)``, the distribution of the label of each word.
            root: ``(batch, d_root)``, the distribution of the label of the root.
        """
        return torch.einsum("bnd,hde,be->bhn", words, self.table, root)

    def to_labels(self, heads: Tensor, root: Tensor) -> Tensor:
        """Return the messages of the root to words, ``(batch, n, d)``, given ``heads (batch, h, n)``."""
        return torch.einsum("bhn,hde,be->bnd", heads, self.table, root)

    def to_root(self, heads: Tensor, words: Tensor) -> Tensor:
        """Return the messages of the dependents to the root, ``(batch, d_root)``.

        Args:
            heads: ``(batch, h, n)``, the probability that the root is the head of each word.
            words: ``(batch, n, d)``, the distribution of the label of each word.
        """
        return torch.einsum("bhn,bnd,hde->be", heads, words, self.table)


class GlobalFeatures(nn.Module):
    """Global features; each word chooses one in each channel, and B^(c)[k, Z_i] is the score of choosing k.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h, or 1 for a single choice.
        count: Number of features, m.

    Scores start with standard deviation 1/sqrt(d), because their messages are multiplied by d.
    """

    def __init__(self, labels: int, channels: int, count: int) -> None:
        super().__init__()
        self.channels, self.count = channels, count
        self.table = nn.Parameter(torch.randn(channels, count, labels) * labels**-0.5)

    def forward(self, labels: Tensor) -> Tensor:
        """Return the expected score of each feature, ``(batch, h, n, m)``, from ``(batch, n, d)``."""
        return torch.einsum("bnd,hmd->bhnm", labels, self.table)

    def to_labels(self, choices: Tensor) -> Tensor:
        """Return the messages of features to words: from choices ``(batch, h, n, m)`` to ``(batch, n, d)``."""
        return torch.einsum("bhnm,hmd->bnd", choices, self.table)
