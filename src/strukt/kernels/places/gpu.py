"""Sums of scores at places on a GPU, and subtraction from them: one launch for each tensor of scores.

In PyTorch these would be 25 launches in a training step, longer than their work.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.engine.gpu.available import device_of
from strukt.kernels.places import reference
from strukt.kernels.places.reference import Places

BLOCK = 128


def fits(batch: Tensor) -> bool:
    """Return True if there are items; see `strukt.kernels.dispatch`."""
    return batch.numel() > 0


def log_prob(scores: Scores, dims: tuple[int, ...], places: Places, log_partition: Tensor) -> Tensor:
    """Return the log-probability of one event for each item, ``(batch,)``; the arguments are those of `cpu`."""
    from strukt.kernels.places import sums  # needs Triton

    value, total = torch.empty_like(log_partition), torch.empty_like(log_partition, dtype=torch.float64)
    last = len(scores) - 1
    with device_of(value):
        for index, (score, place) in enumerate(zip(scores, places, strict=True)):
            rows, at = score.detach().contiguous(), place.contiguous()
            sums.add_up[(len(value),)](
                rows, at, log_partition.contiguous(), total, value, *_sizes(rows, at), index == 0, index == last,
                BLOCK,
            )  # fmt: skip
    return value


def opposites(grad: Tensor, log_prob: Tensor) -> Tensor:
    """Return the negatives of gradients ``(batch,)``, 0 for impossible events."""
    from strukt.kernels.places import sums

    result = torch.empty_like(log_prob)
    with device_of(result):
        grads, log_probs, blocks = grad.contiguous(), log_prob.contiguous(), -(-len(result) // BLOCK)
        sums.opposites[(blocks,)](grads, log_probs, result, len(result), BLOCK)
    return result


def subtract(part: Tensor, place: Tensor, weight: Tensor) -> None:
    """Subtract each item's weight ``(batch,)`` at its places of a gradient ``(g, ...)``, in place.

    The weights of items that share their scores are added atomically, in any order, and so rounded differently in
    each run. PyTorch sorts them instead where it is told to be deterministic.
    """
    from strukt.kernels.places import sums

    if len(place) > len(part) and torch.are_deterministic_algorithms_enabled():
        reference.subtract(part, place, weight)
        return
    with device_of(part):
        at = place.contiguous()
        sums.subtract[(len(weight),)](part, at, weight.contiguous(), *_sizes(part, at), BLOCK)


def _sizes(rows: Tensor, place: Tensor) -> tuple[int, int, int]:
    """Return the number of scores of an item, of its places, and of the items that share a row."""
    return rows[:1].numel(), place.shape[1], max(len(place) // max(len(rows), 1), 1)
