"""The oracles of monotone alignments, diagonal by diagonal."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.monotone_alignment.reference import REFERENCE

ORACLES = TableOracles(
    __package__,
    scores=("moves", "transition"),
    options=(),
    reference=REFERENCE,
    event_dim=2,
    constants=("target_lengths",),
)
