"""Monotone alignments of two sequences: the recursion over the cells of a grid, diagonal by diagonal."""

from strukt.kernels.alignment.reference import REFERENCE, max_marginals
from strukt.kernels.engine.oracles import TableOracles

ORACLES = TableOracles(
    "alignment",
    scores=("moves", "transition"),
    options=(),
    reference=REFERENCE,
    event_dim=2,
    constants=("target_lengths",),
)

__all__ = ["ORACLES", "max_marginals"]
