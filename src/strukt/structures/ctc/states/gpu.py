"""The states of targets on a GPU and the check of the targets, in one launch; PyTorch would need 14."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import is_plain
from strukt.kernels.engine.gpu.launching import device_of, launcher

BLOCK = 128
"""The number of labels that a Triton program processes at a time."""


def fits(targets: Tensor) -> bool:
    """Return True if there are any targets and their data can be read; see `strukt.kernels.dispatch`."""
    return is_plain() and targets.numel() > 0


def states_of(targets: Tensor, target_lengths: Tensor, blank: int, labels: int) -> tuple[Tensor, Tensor]:
    """Return the states ``batch + (2 m + 1,)``, and 1 for each item with a valid target, else 0: ``(items,)``.

    The arguments are those of `strukt.structures.ctc.states.states_of`.
    """
    from strukt.structures.ctc.states import gpu_states  # needs Triton

    *batch, m = targets.shape
    rows = targets.reshape(-1, m)
    states = target_lengths.new_empty(*batch, 2 * m + 1)
    valid = target_lengths.new_empty(len(rows), dtype=torch.uint8)
    with device_of(targets):
        launcher(gpu_states.write_states, (len(rows),))(
            rows, *rows.stride(), target_lengths.reshape(-1), m, blank, labels, states, valid, BLOCK
        )
    return states, valid
