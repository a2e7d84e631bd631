"""Arguments that the losses of transcripts share: reductions, and lengths on any device."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.checks.lengths import Lengths, as_tensor

REDUCTIONS = ("none", "mean", "sum")


def require_reduction(reduction: str) -> None:
    """Raise ValueError unless the reduction is one of `REDUCTIONS`."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}; expected 'none', 'mean' or 'sum'")


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Return the losses ``(batch,)`` unchanged for reduction ``"none"``, or their ``"sum"`` or ``"mean"``."""
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.mean()


def lengths_on(
    device: torch.device, name: str, value: Lengths, batch: int, longest: int, validate_args: bool | None
) -> Tensor:
    """Check lengths ``(batch,)`` and move them to a device, as PyTorch's CTC loss does.

    Lengths on the CPU are checked there, others only if ``validate_args`` is not False.

    Raises:
        ValueError: If the shape or type is wrong, or a length is not between 0 and ``longest``.
    """
    if value is None:
        raise ValueError(f"{name} is None; expected a LongTensor of shape ({batch},)")
    tensor = as_tensor(value, name)
    tensor = tensor.to(device) if isinstance(tensor, Tensor) and not tensor.is_cpu else tensor
    check = validate_args is not False
    return arguments.lengths(tensor, torch.Size([batch]), longest, device, name, check)
