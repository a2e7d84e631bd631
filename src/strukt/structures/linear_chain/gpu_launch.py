"""The choice among the linear chain's GPU kernels by the shape of the scores: log-partition, marginals and mode.

Matrices of weights are kept in registers, or read in tiles at each position if they do not fit. A small batch of
long items with few tags is split into blocks of positions.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torch import Tensor

from strukt.structures.linear_chain import gpu_launch_registers, gpu_launch_scan, gpu_launch_tiles
from strukt.structures.linear_chain.gpu_arguments import in_registers, is_known

any_scores = True
"""True: results are exact for scores of any magnitude; see `strukt.kernels.engine.gpu.backend.Gpu`."""


def fits(unary: Tensor, transition: Tensor, lengths: Tensor, *_: Any) -> bool:
    """Return True if there are scores of a supported type, and one number per tag fits into registers.

    See `strukt.kernels.dispatch`.
    """
    return is_known(unary) and unary.shape[2] <= gpu_launch_tiles.MOST


def chart_shape(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int]:
    """Return the shape of the chart, in float64; a scan's chart has another shape than that of other kernels."""
    return _launches(unary).chart_shape(unary, transition, lengths)  # type: ignore[no-any-return]


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart."""
    return _launches(unary).inside(unary, transition, lengths)  # type: ignore[no-any-return]


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginals of tags and of transitions, times ``weights (batch,)``, in the shapes of the scores."""
    return _launches(unary).outside(unary, transition, lengths, weights, chart)  # type: ignore[no-any-return]


def best(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best tags ``(batch, n)`` and their score (Viterbi 1967)."""
    return _launches(unary).best(unary, transition, lengths)  # type: ignore[no-any-return]


def _launches(unary: Tensor) -> ModuleType:
    """Return the module that launches the kernels for scores of this shape."""
    if gpu_launch_scan.pays_off(unary):
        return gpu_launch_scan
    return gpu_launch_registers if in_registers(unary) else gpu_launch_tiles
