"""The choice among the linear chain's GPU kernels by the shape of the scores: log-partition, marginals and mode.

Matrices of weights are kept in registers, or read in tiles at each position if they do not fit. A small batch of
long items with few tags is split into blocks of positions.
"""

from __future__ import annotations

from collections.abc import Callable
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


def of_chosen(choose: Callable[..., Any], *names: str) -> list[Callable[..., Any]]:
    """Return, for each name, a function that calls the one of this name in the backend ``choose(*arguments)``."""

    def named(name: str) -> Callable[..., Any]:
        return lambda *arguments: getattr(choose(*arguments), name)(*arguments)

    return list(map(named, names))


def _launches(unary: Tensor, *_: Any) -> ModuleType:
    """Return the module that launches the kernels for scores of this shape; each module has charts of its own."""
    if gpu_launch_scan.pays_off(unary):
        return gpu_launch_scan
    return gpu_launch_registers if in_registers(unary) else gpu_launch_tiles


chart_shape, inside, outside, best = of_chosen(_launches, "chart_shape", "inside", "outside", "best")
