"""Decomposable attention: two sentences are compared word by word, along an alignment."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import require_same_batch, require_sizes, require_vectors
from strukt.nn.structured_attention import Alignment, StructuredAttention, lengths_of_pairs


class Comparison(NamedTuple):
    """What comparing two sentences gives.

    Attributes:
        scores: ``(batch, classes)``.
        alignment: Of the words of the first sentence with those of the second: ``(batch, n, m)``.
    """

    scores: Tensor
    alignment: Alignment


class DecomposableAttention(nn.Module):
    """Attend, compare, aggregate: a classifier of pairs of sentences, which reads no order but by the alignment.

        e_ij = F(a_i)'F(b_j) / sqrt(size)                        attend: scores of which an alignment is made
        beta_i = sum_j of_rows_ij b_j,   alpha_j = sum_i of_columns_ij a_i
        v_1 = sum_i G([a_i, beta_i]),    v_2 = sum_j G([b_j, alpha_j])      compare
        scores = W H([v_1, v_2]) + w                             aggregate

    F, G and H are networks of two layers with ReLU; a and b are projections of the words' vectors. The source does
    not divide (``scaled_scores=False``): then scores grow until sparse alignments have one structure, and no
    gradient.

    Source: Parikh et al. (2016), "A decomposable attention model for natural language inference"; with structured
    alignments Niculae and Martins (2020), "LP-SparseMAP", section 5.2.

    Args:
        inputs: Size of the vectors of words.
        size: Of all hidden layers.
        classes: Their number.
        attention: What makes an alignment of the scores; the softmax of the source if None.
        dropout: Probability that a feature is dropped in front of each layer of the networks.
        scaled_scores: Whether e is divided by the root of the size.

    Raises:
        TypeError: If the attention is something else.
        ValueError: If a size is not above 0.

    Examples:
        >>> compare = DecomposableAttention(6, 8, 3, StructuredAttention("matching"))
        >>> premises, hypotheses = torch.randn(2, 5, 6), torch.randn(2, 4, 6)
        >>> found = compare(premises, hypotheses, torch.tensor([[5, 4], [3, 2]]))
        >>> found.scores.shape, found.alignment.weights.shape
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
        """Compare.

        Args:
            premises: ``(batch, n, inputs)``, the words of the first sentences; the padding is ignored.
            hypotheses: ``(batch, m, inputs)``, those of the second ones.
            lengths: ``(batch, 2)``, the numbers of words of both; all n and m if None.

        Raises:
            ValueError: If shapes do not fit, or a length is out of range.
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
        """The sum ``(batch, size)`` over the words of a sentence, each beside what it is aligned with."""
        compared: Tensor = self.compare(torch.cat([words, seen], 2))
        return compared.masked_fill(outside, 0.0).sum(1)


def _network(inputs: int, size: int, dropout: float) -> nn.Sequential:
    layers = ((nn.Dropout(dropout), nn.Linear(width, size), nn.ReLU()) for width in (inputs, size))
    return nn.Sequential(*(module for layer in layers for module in layer))
