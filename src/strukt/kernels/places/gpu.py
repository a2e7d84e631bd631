"""Sums of scores at places on a GPU, and subtraction from gradients there: one launch for all score tensors.

In PyTorch they would take 25 launches in a training step, which cost more time than the sums themselves.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.places import reference
from strukt.kernels.places.reference import Places

BLOCK = 128
"""The number of places, or of items, that a Triton program processes at a time."""


def fits(batch: Tensor) -> bool:
    """Return True if there are items; see `strukt.kernels.dispatch`."""
    return batch.numel() > 0


def log_prob(scores: Scores, dims: tuple[int, ...], places: Places, log_partition: Tensor) -> Tensor:
    """Return the log-probability of one event for each item, ``(batch,)``; the arguments are those of `cpu`."""
    from strukt.kernels.places import gpu_sums  # needs Triton

    result = torch.empty_like(log_partition)
    rows = tuple(score.detach().contiguous() for score in scores)
    with device_of(result):
        launcher(gpu_sums.log_prob, (len(result),))(
            rows, *_arguments(rows, places), log_partition.contiguous(), result, len(rows), BLOCK
        )
    return result


def opposites(grad: Tensor, log_prob: Tensor) -> Tensor:
    """Return the negatives of gradients ``(batch,)``; 0 for impossible events, with ``log_prob`` -inf."""
    from strukt.kernels.places import gpu_sums

    result = torch.empty_like(log_prob)
    with device_of(result):
        grads, log_probs, blocks = grad.contiguous(), log_prob.contiguous(), -(-len(result) // BLOCK)
        launcher(gpu_sums.opposites, (blocks,))(grads, log_probs, result, len(result), BLOCK)
    return result


def subtract(parts: Scores, places: Places, weight: Tensor) -> None:
    """Subtract each item's weight ``(batch,)`` from its places in the gradients ``(g, ...)``, in place.

    The weights of items that share scores are added atomically, in any order, and so rounded differently in each
    run. Under `torch.use_deterministic_algorithms`, PyTorch adds them in a fixed order instead.
    """
    from strukt.kernels.places import gpu_sums

    if any(len(part) < len(weight) for part in parts) and torch.are_deterministic_algorithms_enabled():
        reference.subtract(parts, places, weight)
        return
    with device_of(weight):
        launcher(gpu_sums.subtract, (len(weight),))(
            parts, *_arguments(parts, places), weight.contiguous(), len(parts), BLOCK
        )


def _arguments(rows: Scores, places: Places) -> tuple[Places, tuple[tuple[int, int, int], ...]]:
    """Return contiguous places, and for each tensor of scores the sizes that `gpu_sums.used_places` describes."""
    sizes = (
        (row[:1].numel(), place.shape[1], max(len(place) // max(len(row), 1), 1))
        for row, place in zip(rows, places, strict=True)
    )
    return tuple(place.contiguous() for place in places), tuple(sizes)
