"""Mean-field messages between heads and dependency labels; each head variable has one label variable.

Scores of pairs are ``(batch, h l, n, n)``, with the l labels of a channel side by side. The probabilities of heads
are ``(batch, h, n, n)``, and the probabilities of labels ``(batch, h, n, l)``.
"""

from __future__ import annotations

from torch import Tensor


def expected_scores(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the expected scores of heads, ``(batch, h, n, n)``, under the probabilities of labels.

    Args:
        scores: ``(batch, h l, n, n)``, the scores of each word with each head, for h channels and l labels.
        labels: ``(batch, h, n, l)``, the probabilities of the label of each word.
    """
    return _by_labels(scores, labels.shape[-1]).mul(labels.mT.unsqueeze(-1)).sum(2)


def label_scores(scores: Tensor, heads: Tensor, labels: int) -> Tensor:
    """Return the expected scores of labels, ``(batch, h, n, l)``, under the probabilities of heads.

    Args:
        scores: ``(batch, h l, n, n)``, as for `expected_scores`.
        heads: ``(batch, h, n, n)``, the probabilities of the head of each word.
        labels: Number of labels, l.
    """
    return _by_labels(scores, labels).mul(heads.unsqueeze(2)).sum(-1).mT


def labelled_heads(heads: Tensor, labels: Tensor) -> Tensor:
    """Return the joint probabilities of heads and labels, ``(batch, h l, n, n)``.

    They are the products of the probabilities of heads, ``(batch, h, n, n)``, and of labels, ``(batch, h, n, l)``.
    """
    return (heads.unsqueeze(2) * labels.mT.unsqueeze(-1)).flatten(1, 2)


def _by_labels(scores: Tensor, labels: int) -> Tensor:
    batch, tables, n, _ = scores.shape
    return scores.reshape(batch, tables // labels, labels, n, n)
