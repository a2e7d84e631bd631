"""The normalisers of words given states by embeddings, without the table of all states and words."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CHUNK = 1 << 22
"""Numbers in the part of the table that there is at once."""


def log_totals(states: Tensor, words: Tensor, bias: Tensor) -> Tensor:
    """For each state the log of the sum over words of exp(state word + bias), ``(z,)``; differentiable.

    Args:
        states: ``(z, d)``.
        words: ``(v, d)``.
        bias: ``(v,)``; -inf for words that no state has.

    Time O(z v d), and memory O(z + v) beside the inputs, also for the gradient, which computes the scores again
    (Wijmans et al. 2025, "Cut your losses in large-vocabulary language models"). Second derivatives do make it.
    """
    found: Tensor = _LogTotals.apply(states, words, bias)  # type: ignore[no-untyped-call]
    return found


class _LogTotals(torch.autograd.Function):
    @staticmethod
    def forward(states: Tensor, words: Tensor, bias: Tensor) -> Tensor:
        total = states.new_full((len(states),), -torch.inf)
        for part in _parts(states, words):
            scores = torch.addmm(bias[part], states, words[part].mT)
            total = torch.logaddexp(total, scores.logsumexp(1))
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        states, words, bias, total = ctx.saved_tensors
        if torch.is_grad_enabled():  # somebody differentiates the gradient
            weights = torch.softmax(torch.addmm(bias, states, words.mT), 1) * grad.unsqueeze(1)
            return weights @ words, weights.mT @ states, weights.sum(0)
        in_states, in_words, in_bias = map(torch.zeros_like, (states, words, bias))
        for part in _parts(states, words):
            scores = torch.addmm(bias[part], states, words[part].mT)
            weights = scores.sub_(total.unsqueeze(1)).exp_().mul_(grad.unsqueeze(1))
            in_states.addmm_(weights, words[part])
            torch.mm(weights.mT, states, out=in_words[part])
            in_bias[part] = weights.sum(0)
        return in_states, in_words, in_bias


def _parts(states: Tensor, words: Tensor) -> list[slice]:
    size = max(CHUNK // max(len(states), 1), 1)
    return [slice(start, start + size) for start in range(0, len(words), size)]
