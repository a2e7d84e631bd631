"""A warning for training on events of probability 0, whose loss is infinite."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF

_said = False


def warn_once(log_prob: Tensor, reason: Callable[[], str]) -> None:
    """Warn, once in a process, if an entry of ``log_prob`` is -inf and it requires a gradient.

    Without a gradient, events of probability 0 are legitimate. ``reason`` returns the clause that begins the
    warning.
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
    """Return a clause that names the first item in which no structure agrees with the known entries.

    ``log_prob``, ``batch``, is the log-probability of agreement; one entry must be -inf.
    """
    first = (log_prob == NEG_INF).nonzero()[0].tolist()
    item = f" of batch item {first[0] if len(first) == 1 else tuple(first)}" if first else ""
    return f"no structure agrees with what is known{item}"
