"""Kernels of trees with codes: those of `strukt.kernels.inside`, with bits as features of a span."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.inside import cpu
from strukt.kernels.inside.bits import codes_summed


def kbest(positive: Tensor, negative: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best events and their scores; time O(n^3 + n^2 m + k n (n + m)) for m bits."""
    return cpu.kbest_of(torch.stack([negative, positive], -1), lengths, k)


def sample(positive: Tensor, negative: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Events ``(batch, count, n + 1, n + 1)`` drawn from the top downwards, and the log-partition."""
    log_partition, chart = cpu.inside(codes_summed(positive, negative, lengths), lengths, False)
    return cpu.sample_of(torch.stack([negative, positive], -1), lengths, chart, count), log_partition
