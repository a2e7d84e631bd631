"""Biaffine scores of all dependencies of a sentence from word vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from strukt.nn.biaffine import Biaffine
from strukt.nn.inputs import precise, require_sizes
from strukt.nn.perceptron import perceptron

_PENALTY = 1e4


class DependencyScores(nn.Module):
    """The base class of biaffine dependency scorers, to which subclasses may add layers.

    The constructor of a subclass must call `build_scores`.

    Attributes:
        root: The learned vector of the root, `(size,)`.
    """

    def build_scores(self, size: int, labels: int, arc_size: int, label_size: int, dropout: float) -> None:
        """Add the layers of the scorer to this module; arguments and errors are those of `DependencyScorer`."""
        require_sizes(size=size, labels=labels, arc_size=arc_size, label_size=label_size)
        self.root = nn.Parameter(torch.zeros(size))
        self.arc_dependent = perceptron(size, arc_size, dropout)
        self.arc_head = perceptron(size, arc_size, dropout)
        self.label_dependent = perceptron(size, label_size, dropout)
        self.label_head = perceptron(size, label_size, dropout)
        self.arc_score = Biaffine(arc_size, arc_size, 1)
        self.label_score = Biaffine(label_size, label_size, labels)

    def with_root(self, words: Tensor) -> Tensor:
        """Prepend the root to the words.

        Args:
            words: `(batch, n, size)`.

        Returns:
            `(batch, n + 1, size)`.
        """
        return torch.cat([self.root.to(words.dtype).expand(words.shape[0], 1, -1), words], 1)

    def arc_scores(self, vectors: Tensor) -> Tensor:
        """Score each head of each word, in float32, or in float64 for vectors in float64.

        Args:
            vectors: `(batch, n + 1, size)`, the root first.

        Returns:
            `(batch, n, n + 1)`, the arc scores of `NonProjectiveTree`: `[m, h]` scores head h of word m + 1. Takes
            `O(n arc_size (n + size + arc_size))` time.
        """
        scores: Tensor = self.arc_score(self.arc_dependent(vectors[:, 1:]), self.arc_head(vectors))
        return precise(scores.squeeze(-1))

    def label_scores(self, vectors: Tensor, heads: Tensor) -> Tensor:
        """Score each label of the arc from each word to its given head.

        Args:
            vectors: `(batch, n + 1, size)`, the root first.
            heads: `(batch, n)`, 0 for the root; negative heads, in the padding, count as the root.

        Returns:
            `(batch, n, c)` for c labels, in float32, or in float64 for vectors in float64.
        """
        candidates: Tensor = self.label_head(vectors)
        index = heads.clamp(min=0).unsqueeze(-1).expand(-1, -1, candidates.shape[-1])
        return precise(self.label_score.aligned(self.label_dependent(vectors[:, 1:]), candidates.gather(1, index)))


def reserve_root(scores: Tensor, heads: Tensor, labels: Sequence[str]) -> Tensor:
    """Lower scores of labels such that the words whose head is the root, and no others, are labelled `root`.

    This is a rule of Universal Dependencies; without a label `root`, the scores are returned unchanged.

    Args:
        scores: `(batch, n, c)`, as from `DependencyScores.label_scores`.
        heads: `(batch, n)`, 0 for the root; -1 in the padding.
        labels: The names of the c labels.

    Returns:
        The scores, less 10,000 for labels against the rule: they remain possible if all others are forbidden.

    Examples:
        >>> reserve_root(torch.zeros(1, 2, 2), torch.tensor([[2, 0]]), ["nsubj", "root"]).argmax(-1)
        tensor([[0, 1]])
    """
    if "root" not in labels:
        return scores
    is_root = torch.tensor([label == "root" for label in labels], device=scores.device)
    return torch.where((heads == 0).unsqueeze(-1) == is_root, scores, scores - _PENALTY)


class DependencyScorer(DependencyScores):
    """A biaffine dependency scorer: scores of heads for each word, and of labels for the arc to a given head.

    Source: Dozat and Manning (2017), "Deep biaffine attention for neural dependency parsing".

    Args:
        size: Size of the word vectors.
        labels: Number of labels `c`.
        arc_size: Size of the vectors that are compared to score an arc.
        label_size: Size of the vectors that are compared to label an arc.
        dropout: Dropout of the compared vectors.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.

    Examples:
        >>> scorer = DependencyScorer(8, labels=5)
        >>> vectors = scorer.with_root(torch.randn(2, 3, 8))
        >>> scorer.arc_scores(vectors).shape
        torch.Size([2, 3, 4])
        >>> scorer.label_scores(vectors, torch.tensor([[0, 1, 1], [2, 0, 2]])).shape
        torch.Size([2, 3, 5])
    """

    def __init__(
        self, size: int, labels: int, arc_size: int = 500, label_size: int = 100, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.build_scores(size, labels, arc_size, label_size, dropout)
