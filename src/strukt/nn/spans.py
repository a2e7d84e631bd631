"""Scores of all spans of a sentence from word vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.checks import arguments
from strukt.nn.biaffine import Biaffine
from strukt.nn.inputs import require_sizes
from strukt.nn.perceptron import perceptron


def fenceposts(words: Tensor) -> Tensor:
    """Return the vectors of fenceposts, the positions between words.

    In a bidirectional LSTM (BiLSTM), the first half of the vector of a word encodes the words up to it, and the
    second half the words from it on. A fencepost concatenates the first half of the word before it and the second
    half of the word after it. Vectors of other encoders are split in the same way (Kitaev and Klein 2018, section
    2.2); of an odd size, the first half is longer by 1.

    Args:
        words: ``(*batch, n, size)``, zero in the padding.

    Returns:
        ``(*batch, n + 1, size)``, with zeros in place of words before the first one and after the last one.

    Raises:
        ValueError: If the vectors have fewer than two axes.

    Examples:
        >>> import torch
        >>> fenceposts(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[0., 2.],
                [1., 4.],
                [3., 0.]])
    """
    if words.dim() < 2:
        raise ValueError(f"words has shape {tuple(words.shape)}; expected (*batch, n, size)")
    before, after = words.tensor_split(2, -1)
    left = functional.pad(before, (0, 0, 1, 0))
    right = functional.pad(after, (0, 0, 0, 1))
    return torch.cat([left, right], -1)


def between_words(scores: Tensor) -> Tensor:
    """Move scores of pairs of words to the fenceposts around them.

    Args:
        scores: ``(*batch, n, n, c)``, c scores for each pair; ``[i, j]`` scores the span of the words i to j.

    Returns:
        ``(*batch, n + 1, n + 1, c)``; ``[i, j + 1]`` scores the same span. All other entries are 0.

    Raises:
        ValueError: If the shape is wrong.

    Examples:
        >>> import torch
        >>> between_words(torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]])).squeeze(-1)
        tensor([[0., 1., 2.],
                [0., 3., 4.],
                [0., 0., 0.]])
    """
    if scores.dim() < 3 or scores.shape[-3] != scores.shape[-2]:
        raise ValueError(f"scores has shape {tuple(scores.shape)}; expected (*batch, n, n, c)")
    return functional.pad(scores, (0, 0, 1, 0, 0, 1))


class SpanScorer(nn.Module):
    """A biaffine scorer of labelled spans: the score of the span plus the score of its label.

    Both scores are biaffine in the vectors of the two fenceposts (Zhang, Zhou and Li 2020, "Fast and accurate
    neural CRF constituency parsing").

    Args:
        size: Size of the fencepost vectors.
        labels: Number of labels `c`.
        span_size: Size of the vectors that are compared to score a span.
        label_size: Size of the vectors that are compared to label a span.
        dropout: Probability that a feature of the compared vectors is dropped for a whole sentence.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.

    Examples:
        >>> import torch
        >>> SpanScorer(8, labels=5)(torch.randn(2, 4, 8)).shape
        torch.Size([2, 4, 4, 5])
    """

    def __init__(
        self, size: int, labels: int, span_size: int = 250, label_size: int = 100, dropout: float = 0.0
    ) -> None:
        super().__init__()
        require_sizes(size=size, labels=labels, span_size=span_size, label_size=label_size)
        self.span_left = perceptron(size, span_size, dropout)
        self.span_right = perceptron(size, span_size, dropout)
        self.label_left = perceptron(size, label_size, dropout)
        self.label_right = perceptron(size, label_size, dropout)
        self.span_score = Biaffine(span_size, span_size, 1)
        self.label_score = Biaffine(label_size, label_size, labels)

    def forward(self, posts: Tensor) -> Tensor:
        """Score all spans with all labels.

        Args:
            posts: ``(*batch, n + 1, size)``, vectors of fenceposts.

        Returns:
            ``(*batch, n + 1, n + 1, c)``; ``[i, j]`` scores the span from fencepost i to j. Entries with i >= j
            have no meaning.

        Raises:
            ValueError: If the shape is wrong, or the vectors are not floating-point.
        """
        size = self.span_left[0].in_features
        arguments.scores("posts", posts, f"(*batch, n + 1, {size})", 2)
        if posts.shape[-1] != size:
            raise ValueError(f"posts has shape {tuple(posts.shape)}; expected (*batch, n + 1, {size})")
        spans: Tensor = self.span_score(self.span_left(posts), self.span_right(posts))
        labels: Tensor = self.label_score(self.label_left(posts), self.label_right(posts))
        return spans + labels
