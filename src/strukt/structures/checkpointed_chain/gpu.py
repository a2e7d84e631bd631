"""Chains for long sequences on GPUs, by the kernels of the linear chain: O(n c) memory in the backward pass."""

from __future__ import annotations

import math
from typing import Any

from strukt.kernels.memory import MOST_ON_GPU
from strukt.structures.linear_chain import gpu


class Bounded:
    """A GPU backend of linear chains that declines charts that are too large; the CPU backend needs less memory.

    Args:
        backend: The backend for charts of any size.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.ALTERNATIVES = tuple(map(Bounded, getattr(backend, "ALTERNATIVES", ())))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def fits(self, *arguments: Any) -> bool:
        """Return True if the kernels support these scores, and the chart takes at most `MOST_ON_GPU` bytes."""
        size = 8 * math.prod(self.chart_shape(*arguments[:3]))
        return bool(size <= MOST_ON_GPU and self._backend.fits(*arguments))


TABLE = Bounded(gpu)
