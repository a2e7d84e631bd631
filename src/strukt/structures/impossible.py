"""A warning for training on events of probability 0, whose loss is infinite."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF

_said = False


def warn_once(log_prob: Tensor, reason: Callable[[], str]) -> None:
    """Warn, once in a process, if an event that requires a gradient is impossible; the warning says why.

    Without a gradient, events of probability 0 are legitimate.
    """
    global _said
    if _said or not log_prob.requires_grad or torch.compiler.is_compiling():
        return
    try:
        if not log_prob.numel() or log_prob.detach().amin().item() != NEG_INF:
            return
    except RuntimeError:  # tensors of torch.func.vmap, which hide their data
        return
    _said = True
    warnings.warn(
        f"{reason()}; a mean loss with it is infinite. Correct the event, or allow it (this warning appears once; "
        "other items may be like this one)",
        stacklevel=3,
    )


def disagreement(log_prob: Tensor) -> str:
    """Return a clause that names the first item without a structure that agrees with the known entries."""
    first = (log_prob == NEG_INF).nonzero()[0].tolist()
    item = f" of batch item {first[0] if len(first) == 1 else tuple(first)}" if first else ""
    return f"no structure agrees with what is known{item}"
