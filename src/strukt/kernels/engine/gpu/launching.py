"""Compilation and launches of Triton kernels."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch
from torch import Tensor


def for_all_sizes(function: Any) -> Any:
    """Compile a kernel once for its constants, and not for each pattern of sizes that are 1 or divisible by 16.

    This is for kernels of tables: the arrays of items begin at multiples of sizes, of which few are divisible by
    16, so that Triton can seldom rely on aligned addresses anyway.
    """
    import triton

    parameters = inspect.signature(function).parameters.values()
    arguments = [each.name for each in parameters if each.annotation is inspect.Parameter.empty]
    return triton.jit(function, do_not_specialize=arguments)


def launcher(kernel: Any, grid: tuple[int, ...]) -> Any:
    """Return a function that launches a kernel with its arguments, with equal options in all versions of Triton.

    Products and sums are fused, which later versions do on request only. There is no pipelining (one stage), since
    loops read what they wrote before; loops over products of matrices ask for more stages.
    """
    return functools.partial(kernel[grid], enable_fp_fusion=True, num_stages=1)


def device_of(tensor: Tensor) -> Any:
    """Return a context in which kernels are launched on the device of a tensor, even if it is not current."""
    return torch.cuda.device_of(tensor)  # type: ignore[no-untyped-call]
