"""Reference of the recursion of `strukt.structures.low_rank_pcfg.reference` without scores of spans.

The oracles of `strukt.structures.low_rank_pcfg` compute the probability of each label of each span in every
derivative, (n + 1)^2 (s + p) numbers per item. Training needs only the gradients of the grammar and the words.
"""

from __future__ import annotations

from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.oracles import Oracles
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
    """Return the semiring's total, ``(..., batch)``.

    Arguments are those of `strukt.structures.low_rank_pcfg.reference.recursion`, but ``emission`` comes first and
    is ``(..., batch, n, p)``.
    """
    n, labels = emission.shape[-2], left.shape[-1]
    spans = emission.new_zeros(()).expand(*emission.shape[:-2], n + 1, n + 1, labels)
    return reference.recursion(semiring, spans, root, left, right, head, emission, lengths)


REFERENCE = DynamicProgram(recursion, count=5)

ORACLES = Oracles(
    __package__, scores=("emission", "root", "left", "right", "head"), options=(), reference=REFERENCE
)
