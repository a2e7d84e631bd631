"""The events that kernels name, as tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.memory import no_events


class Names:
    """Room for events.

    Args:
        shape: ``(batch, count, *event)``.
        alternatives: How many alternatives there are at each place of an event.
        kinds: How many of them an event tells apart, a divisor: the last axis of alternatives that have several.
        valued: Whether a value is chosen there, too.
    """

    def __init__(self, shape: tuple[int, ...], alternatives: int, kinds: int, valued: bool) -> None:
        wanted = (kinds > 1 or not valued, valued)
        each = [no_events(*shape) if want else None for want in wanted]
        self._found = [events for events in each if events is not None]
        flat = ((events if events is not None else no_events(*shape[:2], 0)).flatten(2).numpy() for events in each)
        self.arrays = (alternatives, kinds, *flat)

    def events(self) -> Tensor:
        """The alternatives, or the values, or both on a last axis."""
        return self._found[0] if len(self._found) == 1 else torch.stack(self._found, -1)
