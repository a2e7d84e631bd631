"""Memory for the events that kernels write."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.memory import no_events


class Events:
    """Events of a batch, first -1 everywhere, as arrays for `choices.write_event` and as tensors.

    Args:
        shape: ``(batch, count, *event)``.
        alternatives: The number of alternatives at each position of an event.
        kinds: The number of kinds of alternatives that events distinguish, a divisor of ``alternatives``: the size
            of the last axis of alternatives, if these have several axes.
        with_kinds: Whether events contain kinds even if they also contain values.
        with_values: Whether events contain values.

    Attributes:
        arrays: The arguments of kernels: ``alternatives``, ``kinds``, and the arrays of kinds and of the codes of
            values, ``(batch, count, positions)`` each, without positions if events do not contain them.
    """

    def __init__(
        self, shape: tuple[int, ...], alternatives: int, kinds: int, with_kinds: bool, with_values: bool
    ) -> None:
        requested = (with_kinds or not with_values, with_values)
        each = [no_events(*shape) if want else None for want in requested]
        self._requested = [events for events in each if events is not None]
        flat = ((events if events is not None else no_events(*shape[:2], 0)).flatten(2).numpy() for events in each)
        self.arrays = (alternatives, kinds, *flat)

    def as_tensor(self) -> Tensor:
        """Return kinds or codes of values ``(batch, count, *event)``, or both, stacked along a last axis."""
        return self._requested[0] if len(self._requested) == 1 else torch.stack(self._requested, -1)
