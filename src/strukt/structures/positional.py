"""Structures whose event is one alternative for each position: tags of words, heads of words."""

from __future__ import annotations

import abc

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.kernels.arrays import Array
from strukt.kernels.dynamic_program import used_alternatives
from strukt.kernels.places import Places
from strukt.kernels.semiring import NEG_INF
from strukt.structures import events
from strukt.structures.distribution import StructuredDistribution

MOST_CANDIDATES = 1 << 22
"""The largest number of events to enumerate."""


class PositionalStructure(StructuredDistribution, abc.ABC):
    """A structure with main scores ``batch + (n, alternatives)`` and events ``batch + (n,)``; -1 is padding.

    An event holds the index of the alternative used at each of n positions. A subclass implements
    `_are_structures`, for which `_in_range` suffices if any choice of alternatives is a structure. With several
    score tensors, it also overrides `_places`. If an alternative consists of several choices, events or parts have
    more axes for each position. Such a subclass overrides `_alternatives`, `_event`, `_rows` and `_shaped`, which
    convert them to and from a single axis of alternatives; `_is_named` and `_agreeing`, which here compare events
    with the last axis of the main scores; and `_made_of`.
    """

    def to_parts(self, event: Tensor) -> Tensor:
        main = self.scores[0]
        event = arguments.event(event, self.batch_shape, self.event_shape)
        alternatives, count = self._alternatives(event), self._rows(main).shape[-1]
        if self._validate_args:
            named = ((alternatives < count) | ~self._positions).all(-1)
            guards.require_structures(event, named, self._made_of)
        inside = self._positions & (alternatives >= 0)
        used = inside.unsqueeze(-1) & (alternatives.unsqueeze(-1) == torch.arange(count, device=main.device))
        return self._shaped(used).to(main.dtype)

    def _from_parts(self, parts: Tensor) -> Tensor:
        rows = self._rows(parts)
        return self._event(used_alternatives(rows))

    def _alternatives(self, event: Tensor) -> Tensor:
        """Return the alternative of an event at each position: ``(..., n)``; negative where there is none."""
        return event

    def _event(self, alternatives: Tensor) -> Tensor:
        """Return the event with the given alternatives ``(..., n)``: the inverse of `_alternatives`."""
        return alternatives

    def _rows(self, parts: Tensor) -> Tensor:
        """Return parts, or their scores, with all alternatives of a position along one axis."""
        return parts

    def _shaped(self, rows: Tensor) -> Tensor:
        """Return parts in their own shape: the inverse of `_rows`."""
        return rows

    @property
    def _made_of(self) -> str:
        """A description of valid events, for an error message."""
        return f"made of alternatives 0 to {self.scores[0].shape[-1] - 1}"

    def _events_of_parts(self, parts: Array, sizes: Array) -> Tensor:
        n, alternatives = self.event_shape[0], self._rows(self.scores[0]).shape[-1]
        named = torch.from_numpy(parts[..., :n] - np.arange(n) * alternatives)
        used = torch.arange(parts.shape[1]) < torch.from_numpy(sizes)[:, None]
        used = used.unsqueeze(-1) & self._positions.cpu().unsqueeze(1)
        return self._event(torch.where(used, named.long(), -1))

    @property
    def _positions(self) -> Tensor:
        """A mask of the positions within the lengths: ``batch + (n,)``."""
        return events.within(self.lengths, self.event_shape[0])

    def _places(self, event: Tensor) -> Places:
        """Return the flat index of the main score of each position's alternative, -1 in the padding."""
        count = self._rows(self.scores[0]).shape[-1]
        return (self._apply(events.alternative_places, self._alternatives(event), count, axes=1),)

    def _in_range(self, event: Tensor) -> Tensor:
        """Return a mask of the events that have a valid alternative at each position within the length."""
        count = self._rows(self.scores[0]).shape[-1]
        return self._apply(events.in_range, self._alternatives(event), count, axes=1)  # type: ignore[no-any-return]

    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        """Forbid all other alternatives at a position with a required one.

        If two alternatives of a position are required, all of them are forbidden.
        """
        main, *others = self.scores
        rows = self._rows(required)
        excluded = rows.any(-1, keepdim=True) & (~rows | (rows.sum(-1, keepdim=True) > 1))
        return main.masked_fill(self._shaped(excluded), NEG_INF), *others

    def _is_named(self, event: Tensor) -> Tensor:
        return ((event >= 0) & (event < self.scores[0].shape[-1])) | ~self._positions

    def _agreeing(self, event: Tensor, known: Tensor) -> Self:
        alternatives = torch.arange(self.scores[0].shape[-1], device=event.device)
        return self.condition(
            forbidden=(known & self._positions).unsqueeze(-1) & (event.unsqueeze(-1) != alternatives)
        )

    def _candidates(self) -> Tensor:
        main = self._rows(self.scores[0])
        n, alternatives = main.shape[-2:]
        if alternatives**n > MOST_CANDIDATES:
            raise ValueError(f"{alternatives} to the power of {n} events are too many to enumerate")
        axis = torch.arange(alternatives, device=main.device)
        return self._event(torch.cartesian_prod(*[axis] * n).reshape(-1, n) if n else axis.new_zeros(1, 0))
