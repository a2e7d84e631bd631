"""The normalisers of words given states, without more tables of all states and words than there must be."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF, logsumexp

CHUNK = 1 << 22
"""Numbers in the part of the table that there is at once."""

CACHED = 1 << 19
"""Numbers in a part of a table that is gone through several times."""


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


def log_softmax_columns(logits: Tensor, words: Tensor) -> Tensor:
    """The log-probabilities ``(u, z)`` of some words in all states; differentiable.

    Args:
        logits: ``(z, v)``; a softmax over each row gives the probabilities. A row that is all -inf stays -inf.
        words: ``(u,)``, columns.

    Time O(z v); the only table beside the logits is that of their gradient.
    """
    found: Tensor = _Columns.apply(logits, words)  # type: ignore[no-untyped-call]
    return found


class _Columns(torch.autograd.Function):
    @staticmethod
    def forward(logits: Tensor, words: Tensor) -> Tensor:
        return _columns(
            logits, words, torch.cat([part.logsumexp(1) for part in torch.split(logits, _rows(logits))])
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        del output
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        logits, words = ctx.saved_tensors
        if torch.is_grad_enabled():  # somebody differentiates the gradient
            value = _columns(logits, words, logsumexp(logits, 1))
            return torch.autograd.grad(value, logits, grad, create_graph=True)[0], None
        found, sums = torch.empty_like(logits), -grad.sum(0).unsqueeze(1)
        parts = (torch.split(table, _rows(logits)) for table in (found, logits, sums))
        for out, part, weight in zip(*parts, strict=True):
            torch.softmax(part, 1, out=out).mul_(weight)
        found.masked_fill_(logits.amax(1, keepdim=True) == NEG_INF, 0.0)
        return found.index_add_(1, words, grad.mT), None


def _columns(logits: Tensor, words: Tensor, total: Tensor) -> Tensor:
    return (logits.index_select(1, words).mT - torch.where(total == NEG_INF, 0.0, total)).contiguous()


def _rows(logits: Tensor) -> int:
    """Rows of a part of the table that fits into a cache."""
    return max(CACHED // max(logits.shape[1], 1), 1)


def _parts(states: Tensor, words: Tensor) -> list[slice]:
    size = max(CHUNK // max(len(states), 1), 1)
    return [slice(start, start + size) for start in range(0, len(words), size)]
