"""The k best structures of a distribution, with their probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from torch import Tensor
from torch.utils import _pytree
from typing_extensions import Self

from strukt.kernels.places import log_ratio


class Normalised(Protocol):
    """What tells the probability of a score."""

    @property
    def log_partition(self) -> Tensor:
        """``batch``."""


class TopK(tuple[Tensor, Tensor]):
    """The k best structures: a pair ``scores, events`` with names, and with the probabilities on demand.

    Args:
        scores: ``batch + (k,)``, descending; -inf where there are fewer than k structures. Differentiable.
        events: ``batch + (k,) + event_shape``; -1 where there are fewer than k structures.
        source: The distribution, whose log-partition the probabilities need.

    `StructuredDistribution.topk` makes them. They can be returned from functions under ``torch.func.vmap`` and
    ``torch.compile``.

    Examples:
        >>> import torch
        >>> from strukt import LinearChain
        >>> best = LinearChain(torch.tensor([[0.0, 1.0], [2.0, 0.0]]), torch.zeros(2, 2)).topk(2)
        >>> best
        TopK(
            scores=tensor([3., 2.]),
            events=tensor([[1, 0],
                           [0, 0]]),
        )
        >>> scores, events = best
        >>> best.probs
        tensor([0.6439, 0.2369])
    """

    _source: Normalised

    def __new__(cls, scores: Tensor, events: Tensor, source: Normalised) -> Self:
        made = super().__new__(cls, (scores, events))
        made._source = source
        return made

    @property
    def scores(self) -> Tensor:
        """``batch + (k,)``, descending; -inf beyond the last structure."""
        return self[0]

    @property
    def events(self) -> Tensor:
        """``batch + (k,) + event_shape``; -1 beyond the last structure."""
        return self[1]

    @property
    def log_probs(self) -> Tensor:
        """The log-probability of each structure: ``batch + (k,)``; -inf beyond the last one. Differentiable.

        Takes as long as the log-partition, each time.

        Raises:
            NotImplementedError: If the distribution has no log-partition, as a large `Matching`.
        """
        return log_ratio(self.scores, self._source.log_partition.unsqueeze(-1))

    @property
    def probs(self) -> Tensor:
        """The probability of each structure: ``batch + (k,)``; 0 beyond the last one. Differentiable.

        Takes as long as the log-partition, each time.

        Raises:
            NotImplementedError: If the distribution has no log-partition, as a large `Matching`.
        """
        return self.log_probs.exp()

    def __repr__(self) -> str:
        lines = []
        for name, value in (("scores", self.scores), ("events", self.events)):
            first = f"    {name}="
            lines.append(first + repr(value).replace("\n", "\n" + " " * len(first)) + ",")
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])

    def __getnewargs__(self) -> tuple[Any, ...]:
        """What copies and pickles are made from."""
        return self.scores, self.events, self._source


class _Known:
    """A log-partition that was computed, or why it was not."""

    def __init__(self, value: Tensor | None, reason: str) -> None:
        self._value = value
        self._reason = reason

    @property
    def log_partition(self) -> Tensor:
        if self._value is None:
            raise NotImplementedError(self._reason)
        return self._value


def _flatten(best: TopK) -> tuple[list[Tensor], str]:
    """Its tensors, the log-partition among them: transforms take it apart, and cannot follow the distribution."""
    try:
        return [*best, best._source.log_partition], ""
    except NotImplementedError as error:
        return [*best], str(error)


def _unflatten(tensors: Iterable[Any], reason: str) -> TopK:
    scores, events, *rest = tensors
    return TopK(scores, events, _Known(rest[0] if rest else None, reason))


_pytree.register_pytree_node(
    TopK, _flatten, _unflatten, serialized_type_name="strukt.structures.topk.TopK"
)
