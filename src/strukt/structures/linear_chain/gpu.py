"""The linear chain on GPUs: kernels for log-partition, marginals and mode; its table for all other operators.

Long chains have a kernel for the gradient of marginals, too.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels.engine.gpu.structures import Pairs
from strukt.structures.linear_chain import forward, gpu_launch, gpu_launch_scan
from strukt.structures.linear_chain.gpu_launch import any_scores, best, chart_shape, inside, outside

__all__ = ["ALTERNATIVES", "any_scores", "best", "chart_shape", "inside", "outside"]


class _Beside(Pairs):
    """A table beside kernels: a chart among arguments is theirs, so that the table's own is computed again."""

    def derivative(self, *arguments: Any) -> tuple[Tensor, ...]:
        if gpu_launch_scan.pays_off(arguments[0]):
            return gpu_launch_scan.derivative(*arguments)
        unary, transition, lengths, *others, _ = arguments
        _, chart = self.inside(unary, transition, lengths)
        return super().derivative(unary, transition, lengths, *others, chart)


_TABLE = _Beside(forward.build, forward.cells)
derivative, sample, kbest = _TABLE.derivative, _TABLE.sample, _TABLE.kbest
max_marginals = _TABLE.max_marginals
entropy, entropy_gradient = _TABLE.entropy, _TABLE.entropy_gradient
surprise, surprise_gradient = _TABLE.surprise, _TABLE.surprise_gradient

ALTERNATIVES = (gpu_launch_scan, gpu_launch, _TABLE)
"""The backends to try in turn, each of which supports some scores; the reference computes the others."""


def fits(*arguments: Any) -> bool:
    """Return True if kernels and table support these scores; see `strukt.kernels.dispatch`."""
    return gpu_launch.fits(*arguments) and _TABLE.fits(*arguments)
