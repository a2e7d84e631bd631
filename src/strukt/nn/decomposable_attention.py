"""Decomposable attention: a comparison of two sentences word by word along an alignment (NLI)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import require_same_batch, require_sizes, require_vectors
from strukt.nn.structured_attention import Alignment, StructuredAttention, lengths_of_pairs


class Comparison(NamedTuple):
    """The result of comparing two sentences.

    Attributes:
        scores: ``(batch, classes)``, the scores of the classes.
        alignment: The alignment of the n words of the first sentence with the m words of the second.
    """

    scores: Tensor
    alignment: Alignment


class DecomposableAttention(nn.Module):
    """A classifier of sentence pairs that attends, compares and aggregates.

    Word order enters only through the alignment.

        e_ij = F(a_i)'F(b_j) / sqrt(size)                        attend: the scores of the alignment
        beta_i = sum_j of_rows_ij b_j,   alpha_j = sum_i of_columns_ij a_i
        v_1 = sum_i G([a_i, beta_i]),    v_2 = sum_j G([b_j, alpha_j])      compare
        scores = W H([v_1, v_2]) + w                             aggregate

    F, G and H are networks with two layers and ReLU; a and b are projections of the word vectors of the premise
    and of the hypothesis; `of_rows` and `of_columns` are those of `Alignment`. The source does not divide by
    sqrt(size) (``scaled_scores=False``): scores then grow until sparse alignments consist of one structure and
    have no gradient.

    Source: Parikh et al. (2016), "A decomposable attention model for natural language inference"; with structured
    alignments Niculae and Martins (2020), "LP-SparseMAP", section 5.2.

    Args:
        inputs: Size of the word vectors.
        size: Size of all hidden layers.
        classes: Number of classes.
        attention: Maps the scores to an alignment; the softmax of the source if None.
        dropout: Probability that a feature is dropped before each layer of the networks.
        scaled_scores: Whether e is divided by sqrt(size).

    Raises:
        TypeError: If `attention` is not a `StructuredAttention` or None.
        ValueError: If a size is less than 1, or `dropout` is not a probability.

    Examples:
        >>> from strukt.nn import StructuredAttention
        >>> compare = DecomposableAttention(6, 8, 3, StructuredAttention("matching"))
        >>> premises, hypotheses = torch.randn(2, 5, 6), torch.randn(2, 4, 6)
        >>> result = compare(premises, hypotheses, torch.tensor([[5, 4], [3, 2]]))
        >>> result.scores.shape, result.alignment.weights.shape
        (torch.Size([2, 3]), torch.Size([2, 5, 4]))
    """

    def __init__(
        self,
        inputs: int,
        size: int,
        classes: int,
        attention: StructuredAttention | None = None,
        dropout: float = 0.0,
        scaled_scores: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(attention, StructuredAttention | None):
            raise TypeError(
                f"attention is {attention!r}; expected a StructuredAttention, or None for softmax"
            )
        require_sizes(inputs=inputs, size=size, classes=classes)
        self.divisor = size**0.5 if scaled_scores else 1.0
        self.project = nn.Linear(inputs, size, bias=False)
        self.attend = _network(size, size, dropout)
        self.attention = attention or StructuredAttention()
        self.compare = _network(2 * size, size, dropout)
        self.aggregate = _network(2 * size, size, dropout)
        self.score = nn.Linear(size, classes)

    def forward(self, premises: Tensor, hypotheses: Tensor, lengths: Lengths | None = None) -> Comparison:
        """Compare premises with hypotheses.

        Args:
            premises: ``(batch, n, inputs)``, the words of the first sentences; padding is ignored.
            hypotheses: ``(batch, m, inputs)``, the words of the second sentences; padding is ignored.
            lengths: ``(batch, 2)``, the lengths of the premise and of the hypothesis; all n and m if None.

        Raises:
            ValueError: If a shape is wrong, or a length is out of range.
        """
        for name, words in (("premises", premises), ("hypotheses", hypotheses)):
            require_vectors(name, words, self.project.in_features)
        require_same_batch(premises=premises, hypotheses=hypotheses)
        sizes = (premises.shape[1], hypotheses.shape[1])
        lengths = lengths_of_pairs(lengths, len(premises), sizes, premises.device)
        outside_a, outside_b = (
            ~mask_of(lengths[:, side], words.shape[1]).unsqueeze(2)
            for side, words in enumerate((premises, hypotheses))
        )
        a: Tensor = self.project(premises.masked_fill(outside_a, 0.0))
        b: Tensor = self.project(hypotheses.masked_fill(outside_b, 0.0))
        attended = self.attend(a) @ self.attend(b).mT
        alignment: Alignment = self.attention(attended / self.divisor, lengths)
        first = self._compared(a, alignment.of_rows.to(b) @ b, outside_a)
        second = self._compared(b, alignment.of_columns.to(a).mT @ a, outside_b)
        scores = self.score(self.aggregate(torch.cat([first, second], 1)))
        return Comparison(scores, alignment)

    def _compared(self, words: Tensor, seen: Tensor, outside: Tensor) -> Tensor:
        """Return the sum of G over the words, each followed by its aligned vector ``seen``: ``(batch, size)``."""
        compared: Tensor = self.compare(torch.cat([words, seen], 2))
        return compared.masked_fill(outside, 0.0).sum(1)


def _network(inputs: int, size: int, dropout: float) -> nn.Sequential:
    layers = ((nn.Dropout(dropout), nn.Linear(width, size), nn.ReLU()) for width in (inputs, size))
    return nn.Sequential(*(module for layer in layers for module in layer))
