"""Memory for the events that kernels write."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.memory import no_events


class Names:
    """Events of a batch, first -1 everywhere, as arrays for `choices.name` and as tensors.

    Args:
        shape: ``(batch, count, *event)``.
        alternatives: The number of alternatives at each position of an event.
        kinds: The number of kinds of alternatives that events distinguish, a divisor of ``alternatives``: the size
            of the last axis of alternatives, if these have several axes.
        named: Whether events contain kinds even if they also contain values.
        valued: Whether events contain values.

    Attributes:
        arrays: The last arguments of kernels: ``alternatives``, ``kinds``, and the arrays of kinds and of values,
            ``(batch, count, positions)`` each, without positions if events do not contain them.
    """

    def __init__(
        self, shape: tuple[int, ...], alternatives: int, kinds: int, named: bool, valued: bool
    ) -> None:
        requested = (named or not valued, valued)
        each = [no_events(*shape) if want else None for want in requested]
        self._requested = [events for events in each if events is not None]
        flat = ((events if events is not None else no_events(*shape[:2], 0)).flatten(2).numpy() for events in each)
        self.arrays = (alternatives, kinds, *flat)

    def events(self) -> Tensor:
        """Return the events ``(batch, count, *event)`` of kinds or of values, or of both, along a last axis."""
        return self._requested[0] if len(self._requested) == 1 else torch.stack(self._requested, -1)
