"""The reference of every structure that is a dynamic program: one recursion, run in several semirings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.kernels import semiring
from strukt.kernels.autograd import Scores
from strukt.kernels.gradients import pull_backs
from strukt.kernels.semiring import NEG_INF, Semiring, precise

Recursion = Callable[..., Tensor]
"""The type of recursions: ``recursion(semiring, *scores, lengths, *options)`` returns totals ``(..., batch)``,
with the semiring's own axes in front."""


class DynamicProgram:
    """Log-partition, best, k best, samples, entropy and cross-entropy of one recursion.

    Events come from gradients: the gradient of a best (or sampled) score with respect to the main scores is the
    0/1 vector of the parts of one structure, and the part used at each position is its event.

    Everything is computed in float64, except on Apple's GPUs, which lack it, and returned in the type of the
    scores: the logarithms in a recursion grow with the length, and their rounding in float32 would be an error of
    probabilities.

    The ``*arguments`` of a method are those of the recursion, ``(*scores, lengths, *options)``, each tensor with
    one batch axis in front; `kbest` and `sample` take a number after them.

    Args:
        recursion: The recursion over a semiring.
        count: The number of score tensors, main scores first.
        to_events: ``to_events(parts, *options)`` returns the events of 0/1 vectors of main parts; by default the
            index of the part used at each position, or -1 where none is.

    Examples:
        >>> def independent(ring, unary, lengths):  # tags of full-length sentences, without transitions
        ...     total = ring.one(unary[..., 0, 0])
        ...     for t in range(unary.shape[-2]):
        ...         tags = ring.weigh(ring.one(unary[..., t, :]), unary[..., t, :])
        ...         total = ring.times(total, ring.sum(tags, -1))
        ...     return total
        >>> program = DynamicProgram(independent, count=1)
        >>> unary, lengths = torch.tensor([[[0.0, 2.0], [1.0, 0.0]]]), torch.tensor([2])
        >>> program.best(unary, lengths), program.entropy(unary, lengths)
        ((tensor([[1, 0]]), tensor([3.])), tensor([0.9475]))
        >>> program.kbest(unary, lengths, 2)
        (tensor([[[1, 0],
                 [1, 1]]]), tensor([[3., 2.]]))
    """

    def __init__(
        self, recursion: Recursion, count: int, to_events: Callable[..., Tensor] | None = None
    ) -> None:
        self.recursion = recursion
        self.count = count
        self.to_events = to_events or used_alternatives

    def log_partition(self, *arguments: Any) -> Tensor:
        """Return the log-partition ``(batch,)``, differentiable any number of times."""
        return self._total(semiring.Log(), *arguments).to(arguments[0].dtype)

    def entropy(self, *arguments: Any) -> Tensor:
        """Return the entropy ``(batch,)`` in nats."""
        ring = semiring.Entropy()
        return ring.lower(self._total(ring, *arguments)).to(arguments[0].dtype)

    def cross_entropy(self, scores: Scores, other: Scores, *rest: Any) -> Tensor:
        """Return the cross-entropy ``(batch,)`` in nats: -E[log q], q the distribution of ``other``.

        Args:
            scores: The score tensors of this distribution.
            other: Those of q, in the same shapes.
            rest: ``(lengths, *options)``, which both have in common.
        """
        ring = semiring.CrossEntropy()
        pairs = (torch.stack([left, right]) for left, right in zip(scores, other, strict=True))
        return ring.lower(self._total(ring, *pairs, *rest)).to(scores[0].dtype)

    def best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, *event)`` and its score ``(batch,)``; -1 and -inf if there is none."""
        with torch.no_grad():
            score = self._total(semiring.Max(), *arguments)
        (event,) = self._events(semiring.Max(), arguments, [torch.ones_like(score)])
        return _only_where(score > NEG_INF, event), score.to(arguments[0].dtype)

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the k best events ``(batch, k, *event)`` and scores ``(batch, k)``; k is the last argument.

        If there are fewer structures, events are padded with -1 and scores with -inf.
        """
        *inputs, k = arguments
        ring = semiring.KMax(k)
        with torch.no_grad():
            scores = self._total(ring, *inputs)
        ranks = torch.eye(k, dtype=scores.dtype, device=scores.device)
        weights = [rank.unsqueeze(-1).expand_as(scores) for rank in ranks]
        events = torch.stack(self._events(ring, tuple(inputs), weights), 1)
        scores = scores.transpose(0, 1).contiguous()
        return _only_where(scores > NEG_INF, events), scores.to(inputs[0].dtype)

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return exact samples ``(batch, count, *event)`` and the log-partition ``(batch,)``.

        The last argument is the count. Samples are -1 if there is no structure.
        """
        *inputs, count = arguments
        batch = len(inputs[0])
        (main, *others), rest = inputs[: self.count], inputs[self.count :]
        more = (value.repeat_interleave(count, 0) if isinstance(value, Tensor) else value for value in rest)
        repeated = (main.repeat_interleave(count, 0), *others, *more)  # samples share the other scores
        with torch.no_grad():
            log_partition = self._total(semiring.Log(), *inputs)
        ones = torch.ones_like(log_partition).repeat_interleave(count, 0)
        (events,) = self._events(semiring.Sampling(), repeated, [ones])
        events = events.reshape(batch, count, *events.shape[1:])
        return _only_where((log_partition > NEG_INF)[:, None], events), log_partition.to(main.dtype)

    def _events(self, ring: Semiring, arguments: tuple[Any, ...], weights: list[Tensor]) -> list[Tensor]:
        """Return, for each weight, events ``(batch, *event)`` from the gradient of the total; padded with -1."""
        scores, rest = arguments[: self.count], arguments[self.count :]
        result = pull_backs(functools.partial(self._total, ring), scores, rest, weights)
        return [self.to_events(grads[0], *rest[1:]) for grads in result]

    def _total(self, ring: Semiring, *arguments: Any) -> Tensor:
        """Return the recursion's total in the type that it computes in."""
        scores, rest = arguments[: self.count], arguments[self.count :]
        return self.recursion(ring, *(self._precise(score) for score in scores), *rest)

    def _precise(self, score: Tensor) -> Tensor:
        """Return scores in the type to compute in."""
        return precise(score)


def used_alternatives(parts: Tensor, *options: bool) -> Tensor:
    """Return the index of the used one of the c parts of each position, ``(*positions,)``; -1 if none is used.

    ``parts`` are ``(*positions, c)``. A part is used if it is positive. Of several, the largest is taken. Options
    are ignored.
    """
    if not parts.shape[-1]:
        return torch.full(parts.shape[:-1], -1, dtype=torch.int64, device=parts.device)
    return torch.where((parts > 0).any(-1), parts.argmax(-1), -1)


def _only_where(feasible: Tensor, events: Tensor) -> Tensor:
    """Return events with -1 wherever ``feasible``, of their first axes, is False."""
    return torch.where(feasible.reshape(*feasible.shape, *(1,) * (events.dim() - feasible.dim())), events, -1)
