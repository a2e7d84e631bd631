"""Values besides other words that a word may choose as its head: a root, and global features."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from strukt.nn.inputs import precise


class Root(nn.Module):
    """A root node with a label of its own; any word may choose it as its head.

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
        """Return the expected score of the root as the head of each word: ``(batch, h, n)``.

        Args:
            words: ``(batch, n, d)``, the distribution over labels of each word.
            root: ``(batch, d_root)``, the distribution over labels of the root.
        """
        return torch.einsum("bnd,hde,be->bhn", words, precise(self.table), root)

    def to_labels(self, heads: Tensor, root: Tensor) -> Tensor:
        """Return the messages of the root to the labels of words, ``(batch, n, d)``.

        Args:
            heads: ``(batch, h, n)``, the probability that the root is the head of each word.
            root: ``(batch, d_root)``, the distribution over labels of the root.
        """
        return torch.einsum("bhn,hde,be->bnd", heads, precise(self.table), root)

    def to_root(self, heads: Tensor, words: Tensor) -> Tensor:
        """Return the message of all dependents to the label of the root, ``(batch, d_root)``.

        Args:
            heads: ``(batch, h, n)``, the probability that the root is the head of each word.
            words: ``(batch, n, d)``, the distribution over labels of each word.
        """
        return torch.einsum("bhn,bnd,hde->be", heads, words, precise(self.table))


class GlobalFeatures(nn.Module):
    """Global features: each word i chooses one in each channel c; B^(c)[k, Z_i] scores feature k for label Z_i.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h, or 1 for a single choice.
        count: Number of features, m.

    Scores start with standard deviation 1/sqrt(d), because messages to separate choices of channels are divided by
    the weight of heads, which is 1/d by default. Messages to a single choice are not.
    """

    def __init__(self, labels: int, channels: int, count: int) -> None:
        super().__init__()
        self.channels, self.count = channels, count
        self.table = nn.Parameter(torch.randn(channels, count, labels) * labels**-0.5)

    def forward(self, labels: Tensor) -> Tensor:
        """Return expected scores of features, ``(batch, h, n, m)``, from label probabilities ``(batch, n, d)``."""
        return torch.einsum("bnd,hmd->bhnm", labels, precise(self.table))

    def to_labels(self, choices: Tensor) -> Tensor:
        """Return messages to labels, ``(batch, n, d)``, from probabilities of features ``(batch, h, n, m)``."""
        return torch.einsum("bhnm,hmd->bnd", choices, precise(self.table))
