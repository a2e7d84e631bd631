"""Events that kernels write, as tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.memory import no_events


class Names:
    """Memory for events.

    Args:
        shape: ``(batch, count, *event)``.
        alternatives: The number of alternatives at each place of an event.
        kinds: The number of kinds that an event distinguishes: the size of the last axis of alternatives, if these
            have several axes. A divisor of ``alternatives``.
        named: Whether the alternative at a place is part of an event even if there are values.
        valued: Whether each place also has a value.
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
        """Return the alternatives, or the values, or both on a last axis."""
        return self._requested[0] if len(self._requested) == 1 else torch.stack(self._requested, -1)
