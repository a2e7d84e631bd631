"""The linear chain on GPUs: kernels for log-partition, marginals and mode; its table for all other operators.

For long chains there are also kernels for the gradient of marginals and for entropies.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels.engine.gpu.structures import Pairs
from strukt.structures.linear_chain import forward, gpu_launch, gpu_launch_growth
from strukt.structures.linear_chain.gpu_launch import (
    any_scores,
    best,
    chart_shape,
    inside,
    of_chosen,
    outside,
)

__all__ = ["ALTERNATIVES", "any_scores", "best", "chart_shape", "inside", "outside"]


class _Beside(Pairs):
    """A table used beside kernels: a chart among the arguments is the kernels', so the table computes its own."""

    def derivative(self, *arguments: Any) -> tuple[Tensor, ...]:
        unary, transition, lengths, *others, _ = arguments
        _, chart = self.inside(unary, transition, lengths)
        return super().derivative(unary, transition, lengths, *others, chart)


RECURSION = _Beside(forward.build, forward.cells)
sample, kbest, max_marginals = RECURSION.sample, RECURSION.kbest, RECURSION.max_marginals


def _growths(*arguments: Any) -> Any:
    """Return the backend for derivatives and entropies: the scan for long chains, the table for others."""
    return gpu_launch_growth if gpu_launch_growth.fits(*arguments) else RECURSION


derivative, entropy, entropy_gradient = of_chosen(_growths, "derivative", "entropy", "entropy_gradient")
surprise, surprise_gradient = of_chosen(_growths, "surprise", "surprise_gradient")

ALTERNATIVES = (gpu_launch_growth, gpu_launch, RECURSION)
"""The backends to try in turn. Scores that none of them supports are computed by the reference."""


def fits(*arguments: Any) -> bool:
    """Return True if both the kernels and the table support these scores; see `strukt.kernels.dispatch`."""
    return gpu_launch.fits(*arguments) and RECURSION.fits(*arguments)
