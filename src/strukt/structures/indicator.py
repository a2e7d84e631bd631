"""Structures whose event is an indicator of each part, used or not: sets of variables or edges."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.kernels.semiring import NEG_INF
from strukt.structures.distribution import StructuredDistribution
from strukt.structures.explanations import sets

MOST_PARTS = 20  # of which all subsets are enumerated


class IndicatorStructure(StructuredDistribution, abc.ABC):
    """A structure whose events have the shape of the main scores: 1 for used parts, 0 for unused ones.

    Entries that are not parts, such as padding, are -1. A subclass implements `_within`, the mask of the entries
    that are parts, `_are_structures`, `_requiring`, and `_places` or `_score`. Arguments are those of
    `ScoredStructures`.
    """

    @property
    @abc.abstractmethod
    def _within(self) -> Tensor:
        """A mask of the entries of the main scores that are parts: ``batch + parts``."""

    @property
    def _parts_within(self) -> Tensor:
        return self._within

    def to_parts(self, event: Tensor) -> Tensor:
        event = arguments.event(event, self.batch_shape, self.event_shape)
        if self._validate_args:
            guards.require_structures(event, self._is_indicator(event), "made of 0 and 1")
        return self._used(event).to(self.scores[0].dtype)

    def _from_parts(self, parts: Tensor) -> Tensor:
        return torch.where(self._within, (parts > 0).long(), -1)

    def _used(self, event: Tensor) -> Tensor:
        """Return a mask of the parts that an event uses, in its shape."""
        return (event > 0) & self._within

    def _is_indicator(self, event: Tensor) -> Tensor:
        """Return a mask ``sample_shape + batch`` of the events that are 0 or 1 at each part."""
        return self._is_named(event).flatten(-len(self.event_shape)).all(-1)

    def _is_named(self, event: Tensor) -> Tensor:
        return (event == 0) | (event == 1) | ~self._within

    def _distinguishing_parts(self, used: Tensor) -> Tensor:
        return self._within.expand_as(used)

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:  # noqa: ARG002
        return sets.vector(event, length)

    def _agreeing(self, event: Tensor, known: Tensor) -> Self:
        known = known & self._within
        return self.condition(required=known & (event != 0), forbidden=known & (event != 1))

    def _candidates(self) -> Tensor:
        places = self._within.reshape(self._batch_size(), *self.event_shape)[0]
        count = int(places.sum())
        if count > MOST_PARTS:
            raise ValueError(f"2 to the power of {count} events are too many to enumerate")
        values = torch.arange(1 << count, device=places.device)
        bits = (values.unsqueeze(-1) >> torch.arange(count, device=places.device).flip(0)) & 1
        events = torch.full((len(values), *self.event_shape), -1, device=places.device)
        events[:, places] = bits
        return events


class AbsenceStructure(IndicatorStructure, abc.ABC):
    """An indicator structure whose `condition` can require parts, by an additional score tensor.

    Forbidding other parts cannot make a part required. The constructor therefore adds a last score tensor,
    ``absent``, in the shape of the main scores: -inf for required parts, whose absence is forbidden, and 0 for all
    others. At first no part is required; `condition` changes that. A subclass implements `_within`,
    `_are_structures`, and `_places` or `_score`. It has no constants: its constructor takes
    ``(*scores, lengths, validate_args)``.

    Args:
        scores: All score tensors but ``absent``, main scores first.
        lengths: ``batch``; the largest length in every item if None.
        validate_args: Whether to check values as well as shapes; the default of
            `strukt.set_default_validate_args` if None.
    """

    def __init__(
        self, scores: tuple[Tensor, ...], lengths: Lengths | None, validate_args: bool | None
    ) -> None:
        super().__init__((*scores, scores[0].new_zeros(()).expand_as(scores[0])), lengths, (), validate_args)

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, _: tuple[Tensor, ...]) -> Self:
        kind: Any = type(self)
        made = kind(*scores[:-1], lengths, validate_args=False)
        made.scores = scores
        return made  # type: ignore[no-any-return]

    @property
    def _required(self) -> Tensor:
        """A mask of the required parts: ``batch + parts``."""
        return (self.scores[-1] == NEG_INF) & self._within

    def _forbidden(self, event: Tensor) -> str | None:
        lacking = (self._required & ~self._used(event))[0].nonzero()
        if len(lacking):
            return f"it lacks the part {lacking[0].tolist()}, which is required"
        return super()._forbidden(event)

    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        *others, absent = self.scores
        return *others, absent.masked_fill(required & self._within, NEG_INF)
