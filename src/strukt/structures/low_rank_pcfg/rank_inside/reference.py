"""Reference of the recursion of `strukt.structures.low_rank_pcfg.reference` without scores of spans."""

from __future__ import annotations

from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.semiring import Semiring
from strukt.structures.low_rank_pcfg import reference


def recursion(
    semiring: Semiring,
    emission: Tensor,
    root: Tensor,
    left: Tensor,
    right: Tensor,
    head: Tensor,
    lengths: Tensor,
) -> Tensor:
    """Return the semiring's total, ``(..., batch)``; emissions ``(..., batch, n, p)`` come first."""
    n, labels = emission.shape[-2], left.shape[-1]
    spans = emission.new_zeros(()).expand(*emission.shape[:-2], n + 1, n + 1, labels)
    return reference.recursion(semiring, spans, root, left, right, head, emission, lengths)


REFERENCE = DynamicProgram(recursion, count=5)
