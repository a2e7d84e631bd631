"""The k best structures of a distribution, with their probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from torch import Tensor
from torch.utils import _pytree
from typing_extensions import Self

from strukt.checks import arguments
from strukt.kernels.places import log_ratio


class Normalised(Protocol):
    """An object with a log-partition, by which probabilities are normalised."""

    @property
    def log_partition(self) -> Tensor:
        """The log-partition, ``batch``."""


class TopK(tuple[Tensor, Tensor]):
    """The k best structures: a named pair ``scores, events``, with probabilities on demand.

    `StructuredDistribution.topk` returns them. Functions can return them under ``torch.func.vmap`` and
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
        """Return the pair of scores and events.

        Args:
            scores: ``batch + (k,)``, in descending order.
            events: ``batch + (k,) + event_shape``.
            source: The distribution, whose log-partition normalises the probabilities.
        """
        made = super().__new__(cls, (scores, events))
        made._source = source
        return made

    @property
    def scores(self) -> Tensor:
        """The scores ``batch + (k,)``, descending; padded with -inf if there are fewer than k. Differentiable."""
        return self[0]

    @property
    def events(self) -> Tensor:
        """The structures ``batch + (k,) + event_shape``; padded with -1 if there are fewer than k."""
        return self[1]

    @property
    def log_probs(self) -> Tensor:
        """The log-probability of each structure: ``batch + (k,)``; padded with -inf. Differentiable.

        Computed from the log-partition on access.

        Raises:
            NotImplementedError: If the distribution has no log-partition, such as a large `Matching`.
        """
        return log_ratio(self.scores, self._source.log_partition.unsqueeze(-1))

    @property
    def probs(self) -> Tensor:
        """The probability of each structure: ``batch + (k,)``; padded with 0. Differentiable.

        Computed from the log-partition on access.

        Raises:
            NotImplementedError: If the distribution has no log-partition, such as a large `Matching`.
        """
        return self.log_probs.exp()

    def __repr__(self) -> str:
        lines = []
        for name, value in (("scores", self.scores), ("events", self.events)):
            first = f"    {name}="
            lines.append(first + repr(value).replace("\n", "\n" + " " * len(first)) + ",")
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the arguments from which copies and pickles are made."""
        return self.scores, self.events, self._source


def topk(structure: Any, k: int) -> TopK:
    """Return the k best structures that the oracle finds, with scores summed anew; see `ExactInference.topk`."""
    events, scores = structure.oracles.kbest(*structure._arguments(), k)
    events, scores = structure._to_batch(events), structure._to_batch(scores)
    axis = len(structure.batch_shape)
    exact = structure._exact_scores(events.movedim(axis, 0), scores.movedim(axis, 0)).movedim(0, axis)
    # The oracle sums in another order, and rounding may change the ranks of near ties.
    ranked, order = exact.sort(dim=-1, descending=True, stable=True)
    places = order.reshape(*order.shape, *(1,) * len(structure.event_shape)).expand_as(events)
    return TopK(ranked, arguments.several(events.gather(axis, places), axis), structure)


class _Known:
    """A log-partition that is already computed, or the message of the error that its computation raised."""

    def __init__(self, value: Tensor | None, reason: str) -> None:
        self._value = value
        self._reason = reason

    @property
    def log_partition(self) -> Tensor:
        if self._value is None:
            raise NotImplementedError(self._reason)
        return self._value


def _flatten(best: TopK) -> tuple[list[Tensor], str]:
    """Return the tensors for PyTorch's transforms, and the reason if there is no log-partition, else "".

    The log-partition is one of the tensors, because transforms cannot trace the distribution.
    """
    try:
        return [*best, best._source.log_partition], ""
    except NotImplementedError as error:
        return [*best], str(error)


def _unflatten(tensors: Iterable[Any], reason: str) -> TopK:
    """Return the object from the results of `_flatten`."""
    scores, events, *rest = tensors
    return TopK(scores, events, _Known(rest[0] if rest else None, reason))


_pytree.register_pytree_node(
    TopK, _flatten, _unflatten, serialized_type_name="strukt.structures.topk.TopK"
)
