"""The precision of products of float32 matrices in kernels: full, unless PyTorch was asked for less."""

from __future__ import annotations

import torch

__all__ = ["input_precision"]


def input_precision() -> str:
    """Return the ``input_precision`` of Triton's `tl.dot`: TF32 only where PyTorch's own products use it.

    That is after ``torch.set_float32_matmul_precision`` with ``"high"`` or ``"medium"``, or after
    ``torch.backends.cuda.matmul.fp32_precision = "tf32"``. The mantissas of float32 factors are then rounded to 10
    bits. Factors in float64 are never rounded.
    """
    setting = getattr(torch.backends.cuda.matmul, "fp32_precision", None)  # torch 2.9 or newer
    if setting is None:
        return "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"
    return "tf32" if setting == "tf32" else "ieee"
