"""The detour through the CPU: operators without a kernel for a device run on copies of its tensors on the CPU.

A search for the k best structures, one after another, takes little time on a CPU, but hundreds of operations on a
device. An operator is computed by the device's kernel, else by the CPU's kernel, else in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from strukt.kernels import dispatch, jit

CHARTED = frozenset({"inside", "outside", "derivative"})
"""The operators that share a chart; on a detour it stays on the CPU."""

CHARTLESS = frozenset(
    {
        "best", "kbest", "sample", "max_marginals", "max_marginals_gradient", "entropy", "entropy_gradient",
        "surprise", "surprise_gradient", "entmax", "normmax", "subset",
    }
)  # fmt: skip
"""The other operators of a recursion, and maps of scores whose reference is a bisection of up to 100 steps."""

_ORACLES = CHARTED | CHARTLESS


def is_taken(package: str, oracle: str, scores: Tensor, *more: Any) -> bool:
    """Return True if the CPU's kernels compute an operator for scores on a device that has no kernel for it.

    Args:
        package: The package with the kernels, as `strukt.kernels.dispatch.kernels` takes it.
        oracle: The name of the function of a backend.
        scores: The main scores.
        more: The other arguments; kernels for GPUs may support only some of them.
    """
    if oracle not in _ORACLES or dispatch.is_for_cpu(scores) or not _answers(package, oracle):
        return False
    return not has_gpu_kernel(package, _forward(oracle), scores, *more)


def has_gpu_kernel(package: str, oracle: str, scores: Tensor, *more: Any) -> bool:
    """Return True if kernels for GPUs compute an operator, with arguments as for `is_taken`."""
    backend = dispatch.select(package, scores, *more) if dispatch.reaches_gpu(scores) else None
    return hasattr(backend, oracle)


def is_taken_on_gpu(package: str, oracle: str) -> bool:
    """Return True if the CPU's kernels compute an operator on a GPU where Triton works."""
    return not hasattr(dispatch.kernels(package, "gpu"), _forward(oracle)) and _answers(package, oracle)


def _forward(oracle: str) -> str:
    """Return the operator whose kernel decides where an oracle runs: for those that read a chart, "inside"."""
    return "inside" if oracle in CHARTED else oracle


def _answers(package: str, oracle: str) -> bool:
    """Return True if the CPU's kernels work, are not ruled out by the user, and compute the oracle."""
    works = jit.UNAVAILABLE is None and dispatch.chosen() != "reference"
    return works and hasattr(dispatch.kernels(package, "cpu"), oracle)


def on_cpu(function: Callable[..., Any], *arguments: Any, kept: int = 0) -> Any:
    """Call a function on the CPU; return its tensors on the device of the first argument.

    Args:
        function: Function of tensors and other values to a tensor or a tuple of tensors.
        arguments: The arguments of the function, scores first.
        kept: The number of tensors at the end of the result that stay on the CPU.
    """
    device = arguments[0].device
    with dispatch.using_cpu():
        result = function(*(value.cpu() if isinstance(value, Tensor) else value for value in arguments))
    if isinstance(result, Tensor):
        return result.to(device)
    moving = len(result) - kept
    return (*(value.to(device) for value in result[:moving]), *result[moving:])
