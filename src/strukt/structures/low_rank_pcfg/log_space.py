"""Items of a batch that underflow in probability space, computed in log space by the reference."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.gradients import pull_backs
from strukt.structures.pcfg.cpu_charts import of_items


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
    (more,) = pull_backs(reference.log_partition, picked, [lengths[items]], [weights[items]])
    for grad, part in zip(grads, more, strict=True):
        groups = items * len(grad) // len(scores[0])
        grad.index_add_(0, groups[: len(part)], part)
