"""Normalisers of the probabilities of words in states, with as few tables ``(z, v)`` in memory as possible."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import asks_for_gradient
from strukt.kernels.full_precision import full_precision
from strukt.kernels.memory import empty_tensor
from strukt.kernels.semiring import NEG_INF, finite, logsumexp
from strukt.structures.hmm.pieces import pieces, rows_at_once

CHUNK = 1 << 22
"""The largest number of scores of words in states that are in memory at once, or those of one word if more."""


def log_totals(states: Tensor, words: Tensor, bias: Tensor) -> Tensor:
    """Return, for each state, the log of the sum over words of exp(state . word + bias): ``(z,)``; differentiable.

    Args:
        states: ``(z, d)``, the vectors of the states.
        words: ``(v, d)``, the vectors of the words.
        bias: ``(v,)``; -inf for words that no state emits.

    Time O(z v d), and memory O(z + v) beside the inputs and their gradients. The backward pass recomputes the
    scores (Wijmans et al. 2025, "Cut your losses in large-vocabulary language models"). Second derivatives store
    the whole table of scores.
    """
    result: Tensor = _LogTotals.apply(states, words, bias)  # type: ignore[no-untyped-call]
    return result


class _LogTotals(torch.autograd.Function):
    """Autograd function of the log-normalisers, whose backward pass recomputes the scores."""

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
    @full_precision
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        states, words, bias, total = ctx.saved_tensors
        if asks_for_gradient((states, words, bias, grad)):  # for higher derivatives
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
    """Return the log-probabilities ``(u, z)`` of some words in all states; differentiable.

    Args:
        logits: ``(z, v)``; a softmax over each row gives the probabilities. A row of only -inf stays -inf.
        words: ``(u,)``, the columns to return.

    Time O(z v). The gradient is the only other table of this size in memory.
    """
    result: Tensor = _Columns.apply(logits, words)[0]  # type: ignore[no-untyped-call]
    return result


class _Columns(torch.autograd.Function):
    """Autograd function of log-probabilities; also returns log-normalisers ``(z, 1)`` for the backward pass."""

    @staticmethod
    def forward(logits: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        total = _totals(logits)
        return _columns(logits, words, total), total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    @full_precision
    def backward(ctx: Any, grad: Tensor | None, _: None) -> tuple[Tensor | None, None]:
        logits, words, total = ctx.saved_tensors
        if grad is None:
            return None, None
        if asks_for_gradient((logits, grad)):  # for higher derivatives
            tops = logsumexp(logits, 1).unsqueeze(1)
            weights = (logits - finite(tops)).exp()
            return (-weights * grad.sum(0).unsqueeze(1)).index_add(1, words, grad.mT), None
        result, sums = empty_tensor(tuple(logits.shape), logits), -grad.sum(0).unsqueeze(1)
        for out, part, top, weight in pieces(result, logits, total, sums):
            torch.sub(part, top, out=out).exp_().mul_(weight)
        return result.index_add_(1, words, grad.mT), None


def _totals(logits: Tensor) -> Tensor:
    """Return the log of the summed exponentials of each row, ``(z, 1)``; 0 for a row of only -inf.

    All parts share one workspace: fresh memory is slow to touch.
    """
    tops = logits.amax(1, keepdim=True)
    empty = tops == NEG_INF
    sums, workspace = torch.empty_like(tops), torch.empty_like(logits[: rows_at_once(logits)])
    for part, top, total in pieces(logits, tops, sums):
        torch.sum(torch.sub(part, top, out=workspace[: len(part)]).exp_(), 1, keepdim=True, out=total)
    return torch.where(empty, 0.0, sums.log() + tops)


def _columns(logits: Tensor, words: Tensor, total: Tensor) -> Tensor:
    """Return the result of `log_softmax_columns`, from the log-normalisers ``total (z, 1)``."""
    return (logits.index_select(1, words) - finite(total)).mT.contiguous()


def _parts(states: Tensor, words: Tensor) -> list[slice]:
    """Return slices of the words whose scores in all states have at most `CHUNK` entries."""
    size = max(CHUNK // max(len(states), 1), 1)
    return [slice(start, start + size) for start in range(0, len(words), size)]
