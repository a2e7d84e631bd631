"""The states of CTC: the labels of a target, with a blank before, between and after them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from strukt.checks import guards
from strukt.kernels import dispatch
from strukt.kernels.autograd import is_plain
from strukt.structures import events


def states_of(targets: Tensor, target_lengths: Tensor, blank: int, labels: int, check: bool) -> Tensor:
    """Return the label of each state, ``batch + (2 m + 1,)``; blanks in the padding.

    Args:
        targets: ``batch + (m,)``, of any integer type.
        target_lengths: ``batch``, in labels.
        blank: The blank label.
        labels: The number of labels, including the blank.
        check: Whether to check the targets; on a GPU this waits for the device.

    Raises:
        ValueError: If a target holds a blank or a number that is not a label.
    """
    kernels = dispatch.select(__package__, targets) if is_plain() else None
    if kernels is not None:
        states, valid = kernels.states_of(targets, target_lengths, blank, labels)
        if not check or bool(valid.all()):
            return states  # type: ignore[no-any-return]
    m = targets.shape[-1]
    used = events.within(target_lengths, m)
    shown = torch.where(used, targets.long().clamp(0, labels - 1), blank)  # kernels use labels as indices
    if check:
        fit = ((targets == shown) | ~used) & ((shown == blank) != used)
        rows = math.prod(targets.shape[:-1])
        guards.require_values(
            targets.long().reshape(rows, m),
            fit.reshape(rows, m),
            "targets",
            f"labels from 0 to {labels - 1} other than the blank, which is {blank}",
        )
    states = shown.new_full((*targets.shape[:-1], 2 * m + 1), blank)
    states[..., 1::2] = shown
    return states
