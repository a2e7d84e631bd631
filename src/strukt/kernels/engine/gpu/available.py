"""Tests of whether Triton works here: it comes with PyTorch for CUDA, and strukt does not depend on it."""

from __future__ import annotations

import functools
import os
import warnings

import torch

OLDEST = (3, 6)
"""The oldest version of Triton in which the kernels have been compiled."""


@functools.cache
def reason() -> str | None:
    """Return why table programs cannot run on a GPU here; None if they can."""
    if not torch.cuda.is_available():
        return "PyTorch sees no GPU"
    return broken()


@functools.cache
def broken() -> str | None:
    """Return why Triton kernels cannot be compiled; None if they can."""
    try:
        import triton

        if tuple(int(part) for part in triton.__version__.split(".")[:2]) < OLDEST:
            return f"triton is {triton.__version__}; expected {OLDEST[0]}.{OLDEST[1]} or newer"
        from strukt.kernels.engine.gpu import inside_outside  # noqa: F401
    except Exception as error:  # Triton may be absent, or present and broken in many ways
        return f"triton cannot be imported ({error})"
    return None


def is_interpreted() -> bool:
    """Return True if Triton's kernels run in its interpreter, which takes tensors on the CPU."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@functools.cache
def warn_once() -> None:
    """Warn once that no kernels can run on the GPU, and of what runs instead."""
    warnings.warn(
        f"strukt has no kernels for the GPU; it computes on the CPU or with its slow reference: {broken()}",
        RuntimeWarning,
        stacklevel=2,
    )
