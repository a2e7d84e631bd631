"""Grammars whose rules are of low rank: the inside recursion over spans with a rank in place of a label."""

from strukt.kernels.oracles import Oracles
from strukt.structures.low_rank_pcfg.reference import REFERENCE

ORACLES = Oracles(
    __package__,
    scores=("spans", "root", "left", "right", "head", "emission"),
    options=(),
    reference=REFERENCE,
    event_dim=2,
)
