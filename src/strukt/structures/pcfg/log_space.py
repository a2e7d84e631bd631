"""Items of a batch that underflow in probability space, computed in log space by the reference."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.gradients import pull_backs


def of_items(items: Tensor, scores: Scores) -> Scores:
    """Return the scores of the items with these indices; scores that all items share are unchanged."""
    batch = len(scores[0])
    return tuple(score if len(score) == 1 else score[items * len(score) // batch] for score in scores)


def add_items(grads: Scores, parts: Scores, items: Tensor) -> None:
    """Add the gradients of some items, in the layout of `of_items`, to those of the batch."""
    for grad, part in zip(grads, parts, strict=True):
        groups = items * len(grad) // len(grads[0])
        grad.index_add_(0, groups[: len(part)], part)


def write_log_partitions(
    reference: DynamicProgram, result: Tensor, scores: Scores, lengths: Tensor, items: Tensor
) -> None:
    """Compute the log-partitions of some items by the reference, and write them to ``result``."""
    with torch.no_grad():
        log_partitions = reference.log_partition(*of_items(items, scores), lengths[items])
    result[items] = log_partitions.to(result.dtype)


def add_gradients(
    reference: DynamicProgram, grads: Scores, scores: Scores, lengths: Tensor, weights: Tensor, items: Tensor
) -> None:
    """Add the gradients of the log-partitions of some items, times their weights, to ``grads``."""
    if not len(items):
        return
    picked = of_items(items, scores)
    (parts,) = pull_backs(reference.log_partition, picked, [lengths[items]], [weights[items]])
    add_items(grads, parts, items)
