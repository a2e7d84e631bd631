"""A warning for training on events of probability 0, whose mean loss is infinite whatever is learned."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF

if TYPE_CHECKING:
    from strukt.distributions.distribution import StructuredDistribution

_said = False


def warn_once(distribution: StructuredDistribution, event: Tensor, log_prob: Tensor) -> None:
    """Warn of the first item whose event is impossible, once in a process, where a gradient is to be taken.

    Events of probability 0 are asked for in other places, too, where nothing is wrong with them.
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
    reason = distribution.explain(event) or "an event has probability 0"
    warnings.warn(
        f"{reason}; a mean loss with it is infinite. Mend the event, or allow it (said once; other items may be "
        "like this one)",
        stacklevel=3,
    )
