"""Labels of dependencies, each a variable beside a head: what they and heads say of each other.

Scores of pairs are ``(batch, h m, n, n)``, those of the m labels of a channel one after another; heads are
``(batch, h, n, n)`` and labels ``(batch, h, n, m)``, probabilities both.
"""

from __future__ import annotations

from torch import Tensor


def expected_scores(scores: Tensor, labels: Tensor) -> Tensor:
    """The scores of heads, ``(batch, h, n, n)``, with the labels as probable as they are."""
    return _by_labels(scores, labels.shape[-1]).mul(labels.mT.unsqueeze(-1)).sum(2)


def label_scores(scores: Tensor, heads: Tensor, labels: int) -> Tensor:
    """The scores of labels, ``(batch, h, n, m)``, with the heads as probable as they are."""
    return _by_labels(scores, labels).mul(heads.unsqueeze(2)).sum(-1).mT


def labelled_heads(heads: Tensor, labels: Tensor) -> Tensor:
    """The probabilities of heads with labels, ``(batch, h m, n, n)``."""
    return (heads.unsqueeze(2) * labels.mT.unsqueeze(-1)).flatten(1, 2)


def _by_labels(scores: Tensor, labels: int) -> Tensor:
    batch, tables, n, _ = scores.shape
    return scores.reshape(batch, tables // labels, labels, n, n)
