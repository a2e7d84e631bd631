"""Reference of the binary CRF in PyTorch: enumeration of all 2^n states in one table of scores.

A state is split into two halves of its bits. Its score is the sum of the scores of both halves and a bilinear term
between them, so that the table is an outer sum plus a product of small matrices: O(2^n) memory, without a list of
all states.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels import semiring
from strukt.kernels.autograd import Scores
from strukt.kernels.full_precision import full_precision
from strukt.kernels.semiring import NEG_INF, Semiring, finite

MOST_VARIABLES = 20
"""The most variables whose states are enumerated."""


class Enumeration:
    """The reference oracles; arguments are ``unary, pairwise, absent, lengths``.

    ``unary`` is ``(batch, n)``, ``pairwise`` ``(g, n, n)`` and ``absent`` ``(g, n)``, where g divides the batch
    and consecutive items share scores.
    """

    def log_partition(self, *arguments: Tensor) -> Tensor:
        """Return the log-partition ``(batch,)``, differentiable any number of times; time O(2^n)."""
        return semiring.logsumexp(table(*arguments), -1)

    def entropy(self, *arguments: Tensor) -> Tensor:
        """Return the entropy ``(batch,)`` in nats."""
        return _total(semiring.Entropy(), table(*arguments))

    def cross_entropy(self, scores: Scores, other: Scores, lengths: Tensor) -> Tensor:
        """Return the cross-entropy ``(batch,)`` in nats: -E[log q], where q is the distribution of ``other``."""
        both = torch.stack([table(*(*each, lengths)) for each in (scores, other)])
        return _total(semiring.CrossEntropy(), both)

    def best(self, *arguments: Tensor) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, n)`` and its score ``(batch,)``; -1 and -inf if there is no event."""
        scores, states = table(*arguments).max(-1)
        return _events(states, scores > NEG_INF, *arguments), scores

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the k best events ``(batch, k, n)`` and their scores ``(batch, k)``, best first.

        The number k is the last argument. If there are fewer events, the others are -1, and their scores -inf.
        """
        *inputs, k = arguments
        every = table(*inputs)
        scores, states = every.topk(min(k, every.shape[-1]), -1)
        missing = k - scores.shape[-1]
        scores = torch.nn.functional.pad(scores, (0, missing), value=NEG_INF)
        states = torch.nn.functional.pad(states, (0, missing))
        return _events(states, scores > NEG_INF, *inputs), scores

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return samples ``(batch, count, n)`` and the log-partition ``(batch,)``; count is the last argument.

        Samples are -1 if every event is forbidden.
        """
        *inputs, count = arguments
        every = table(*inputs)
        log_partition = semiring.logsumexp(every, -1)
        cumulative = semiring.log_softmax(every.double(), -1).exp().cumsum(-1)
        uniform = torch.rand(len(every), count, dtype=torch.float64, device=every.device)
        drawn = torch.searchsorted(cumulative, uniform * cumulative[:, -1:], right=True)
        states = drawn.clamp(max=every.shape[-1] - 1)
        feasible = (log_partition > NEG_INF).unsqueeze(-1).expand_as(states)
        return _events(states, feasible, *inputs), log_partition


REFERENCE = Enumeration()


def max_marginals(*arguments: Tensor) -> Tensor:
    """Return, for each variable, the best score of a state in which it is 1: ``(batch, n)``; time O(n 2^n)."""
    unary, every = arguments[0], table(*arguments)
    batch, n = unary.shape
    best = []
    for i in range(n):
        by_value = every.reshape(batch, 1 << i, 2, 1 << (n - 1 - i))
        best.append(by_value[:, :, 1].flatten(1).amax(-1))
    return torch.stack(best, -1) if best else torch.zeros_like(unary)


@full_precision
def table(unary: Tensor, pairwise: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
    """Return the scores ``(batch, 2^n)`` of all states, -inf for forbidden states.

    The bits of the index of a state are the values of its variables, the first variable being the most significant
    bit. Padding must be 0.

    Raises:
        NotImplementedError: If there are too many variables.
    """
    batch, n = unary.shape
    if n > MOST_VARIABLES:
        raise NotImplementedError(
            f"exact inference enumerates 2^n states, and n = {n} is above {MOST_VARIABLES} (the log-partition "
            "is #P-hard, the mode NP-hard); use mean_field(...) or belief_propagation(...), which take any n"
        )
    within = torch.arange(n, device=unary.device) < lengths.unsqueeze(-1)
    pairs = within.unsqueeze(-1) & within.unsqueeze(-2)
    pairs = pairs & ~torch.eye(n, dtype=torch.bool, device=unary.device)
    pairwise, absent = (
        shared.repeat_interleave(batch // max(len(shared), 1), 0) for shared in (pairwise, absent)
    )
    pairwise = pairwise.masked_fill(~pairs, 0.0)
    pairwise = 0.5 * (pairwise + pairwise.mT)
    scores = _quadratic(*(finite(score) for score in (unary.masked_fill(~within, 0.0), pairwise)))
    never = (unary == NEG_INF) | ~within
    always = (absent == NEG_INF) & within
    linear, exclusive = (mask.to(unary.dtype) for mask in (never, pairwise == NEG_INF))
    broken = _quadratic(linear - always.to(unary.dtype), exclusive)
    allowed = broken + always.sum(-1, keepdim=True) < 0.5  # the number of violated constraints
    return torch.where(allowed, scores, NEG_INF)


def _quadratic(linear: Tensor, pairs: Tensor) -> Tensor:
    """Return sum_i linear_i s_i + 1/2 sum_ij pairs_ij s_i s_j for each of the 2^n states s: ``(batch, 2^n)``."""
    n = linear.shape[-1]
    half = n // 2
    left, right = _bits(half, linear), _bits(n - half, linear)
    left_scores = _within_half(left, linear[:, :half], pairs[:, :half, :half])
    right_scores = _within_half(right, linear[:, half:], pairs[:, half:, half:])
    between = left @ pairs[:, :half, half:] @ right.T
    return (left_scores.unsqueeze(-1) + right_scores.unsqueeze(-2) + between).flatten(1)


def _within_half(states: Tensor, linear: Tensor, pairs: Tensor) -> Tensor:
    """Return the scores ``(batch, 2^k)`` of all states ``(2^k, k)`` of one half of the variables."""
    return linear @ states.T + 0.5 * ((states @ pairs) * states).sum(-1)


def _bits(n: int, like: Tensor) -> Tensor:
    """Return all states of n variables, ``(2^n, n)``."""
    return _digits(torch.arange(1 << n, device=like.device), n).to(like.dtype)


def _digits(states: Tensor, n: int) -> Tensor:
    """Return the n lowest bits of indices of states, the most significant first, on a new last axis."""
    return (states.unsqueeze(-1) >> torch.arange(n - 1, -1, -1, device=states.device)) & 1


def _total(ring: Semiring, scores: Tensor) -> Tensor:
    """Return a semiring's total over the last axis of scores."""
    return ring.lower(ring.sum(ring.weigh(ring.one(scores), scores), -1))


def _events(states: Tensor, feasible: Tensor, unary: Tensor, *rest: Tensor) -> Tensor:
    """Convert indices of states ``(batch, ...)`` to events ``(batch, ..., n)``; -1 in padding or if infeasible."""
    *_, lengths = rest
    n = unary.shape[-1]
    within = torch.arange(n, device=states.device) < lengths.unsqueeze(-1)
    within = within.reshape(len(lengths), *(1,) * (states.dim() - 1), n)
    return torch.where(within & feasible.unsqueeze(-1), _digits(states, n), -1)
