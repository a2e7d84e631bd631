"""The reference of every structure that is a dynamic program: one recursion, asked in several semirings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.kernels import semiring
from strukt.kernels.autograd import Scores, pull_back
from strukt.kernels.semiring import NEG_INF, Semiring

Recursion = Callable[..., Tensor]
"""``recursion(semiring, *scores, lengths, *options)`` gives the semiring's total, ``(..., batch)``."""


class DynamicProgram:
    """Log-partition, best, k best, samples, entropy and cross-entropy of one recursion.

    Events come from gradients: the gradient of a best (or sampled) score in the main scores is the 0/1
    vector of the parts of one structure, and the part used at each position is its event.

    Args:
        recursion: The recursion over a semiring.
        count: The number of its score tensors, the main one first: ``(batch, n, alternatives)``.
    """

    def __init__(self, recursion: Recursion, count: int) -> None:
        self.recursion = recursion
        self.count = count

    def log_partition(self, *arguments: Any) -> Tensor:
        """``(batch,)``, differentiable any number of times."""
        return self.recursion(semiring.Log(), *arguments)

    def entropy(self, *arguments: Any) -> Tensor:
        """``(batch,)`` in nats."""
        ring = semiring.Entropy()
        return ring.lower(self.recursion(ring, *arguments))

    def cross_entropy(self, scores: Scores, other: Scores, *rest: Any) -> Tensor:
        """``(batch,)`` in nats: -E[log q] of the distribution q of ``other`` under that of ``scores``."""
        ring = semiring.CrossEntropy()
        pairs = (torch.stack([left, right]) for left, right in zip(scores, other, strict=True))
        return ring.lower(self.recursion(ring, *pairs, *rest))

    def best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """A best event ``(batch, n)`` and its score ``(batch,)``."""
        with torch.no_grad():
            score = self.recursion(semiring.Max(), *arguments)
        return self._events(semiring.Max(), arguments, score), score

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """The k best events ``(batch, k, n)`` and their scores ``(batch, k)``; the last argument is k."""
        *given, k = arguments
        ring = semiring.KMax(k)
        with torch.no_grad():
            scores = self.recursion(ring, *given)
        events = [self._events(ring, tuple(given), scores[rank], rank) for rank in range(k)]
        return torch.stack(events, 1), scores.transpose(0, 1).contiguous()

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Exact samples ``(batch, count, n)`` and the log-partition; the last argument is their number."""
        *given, count = arguments
        repeated = tuple(value.repeat_interleave(count, 0) if isinstance(value, Tensor) else value for value in given)
        with torch.no_grad():
            log_partition = self.recursion(semiring.Log(), *given)
        events = self._events(semiring.Sampling(), repeated, log_partition.repeat_interleave(count, 0))
        return events.reshape(len(given[0]), count, events.shape[-1]), log_partition

    def _events(self, ring: Semiring, arguments: tuple[Any, ...], score: Tensor, rank: int | None = None) -> Tensor:
        """Events ``(batch, n)`` from the gradient of a total; -1 in padding and where ``score`` is -inf."""
        scores, rest = arguments[: self.count], arguments[self.count :]

        def total(*leaves: Tensor) -> Tensor:
            value = self.recursion(ring, *leaves, *rest)
            return value if rank is None else value[rank]

        parts = pull_back(total, scores, torch.ones_like(score))[0]
        if not parts.shape[-1]:
            return parts.new_full(parts.shape[:-1], -1, dtype=torch.int64)
        used = (parts > 0).any(-1) & (score > NEG_INF).unsqueeze(-1)
        return torch.where(used, parts.argmax(-1), -1)
