"""The oracles of low-rank PCFGs, by the inside algorithm over ranks."""

from strukt.kernels.oracles import Oracles
from strukt.structures.low_rank_pcfg.reference import REFERENCE

ORACLES = Oracles(
    __package__,
    scores=("spans", "root", "left", "right", "head", "emission"),
    options=(),
    reference=REFERENCE,
    event_dim=2,
)
