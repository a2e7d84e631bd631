"""Calls of the kernels of subsets on a batch, on several threads if it is large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from strukt.kernels.jit import over_batch, thread_count
from strukt.structures.k_subset.reference import largest


def run(
    function: Callable[..., None],
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor, *more: Any,
) -> None:  # fmt: skip
    """Call ``function(scores, omitted, lengths, low, high, most, *more, start, step)`` by `over_batch`.

    The tensors are ``scores (batch, n)``, ``omitted (g, n)``, and ``lengths``, ``low`` and ``high (batch,)``;
    ``most`` is the largest size in ``high``, at most n.
    """
    (batch, n), most = scores.shape, largest(high, scores.shape[1])
    threads = thread_count(batch, batch * n * (most + 10))
    over_batch(function, threads, scores, omitted, lengths, low, high, most, *more)
