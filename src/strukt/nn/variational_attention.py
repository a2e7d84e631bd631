"""Variational attention, whose contexts are random vectors."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.checks.lengths import Lengths
from strukt.nn.attention import AdditiveAttention, Attended


class VariationalAttention(AdditiveAttention):
    """Variational attention: contexts are normally distributed around those of additive attention.

    With weights a_i and keys h_i, the mean of a context is c = sum_i a_i h_i, and its standard deviations are
    exp(W tanh(V c + b) + b'), with learned W, V, b and b'. Training samples contexts; prediction uses the mean.
    The Kullback-Leibler (KL) divergence from the prior, a normal distribution with standard deviations 1, is a
    term of the loss.

    Source: Bahuleyan, Mou, Vechtomova and Poupart (2018), "Variational attention for sequence-to-sequence models",
    without their random vector of the whole sequence, which is independent of attention.

    Args:
        queries: Size of the queries.
        keys: Size of the keys.
        size: Size of the hidden layer of the scores.
        prior: The mean of the prior: ``mean``, the mean of the keys; or ``standard``, zero.

    Raises:
        ValueError: If a size is less than 1, or the prior is unknown.

    Examples:
        >>> attend = VariationalAttention(4, 6, 8).eval()
        >>> attended = attend(torch.randn(2, 3, 4), torch.randn(2, 5, 6), torch.tensor([5, 2]))
        >>> attended.context.shape, attended.divergence.shape, bool((attended.divergence >= 0).all())
        (torch.Size([2, 3, 6]), torch.Size([2, 3]), True)
    """

    def __init__(
        self, queries: int, keys: int, size: int, prior: Literal["mean", "standard"] = "mean"
    ) -> None:
        super().__init__(queries, keys, size)
        if prior not in ("mean", "standard"):
            raise ValueError(f"prior is {prior!r}; expected 'mean' or 'standard'")
        self.prior = prior
        self.log_deviation = nn.Sequential(nn.Linear(keys, keys), nn.Tanh(), nn.Linear(keys, keys))

    @override
    def forward(self, queries: Tensor, keys: Tensor, lengths: Lengths | None = None) -> Attended:
        keys, lengths, inside = self.within(queries, keys, lengths)
        weights = self.weights(queries, keys, inside)
        mean = weights @ keys
        log_deviation: Tensor = self.log_deviation(mean)
        context = mean + log_deviation.exp() * torch.randn_like(mean) if self.training else mean
        prior = keys.sum(1, keepdim=True) / lengths.clamp(min=1)[:, None, None] if self.prior == "mean" else 0
        squares = (mean - prior).square() + (2 * log_deviation).exp()
        return Attended(context, weights, (squares / 2 - log_deviation - 0.5).sum(-1))
