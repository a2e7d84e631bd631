"""Grammars whose rules are of low rank: the inside recursion over spans with a rank in place of a label."""

from strukt.kernels.low_rank_pcfg.reference import REFERENCE
from strukt.kernels.low_rank_pcfg.rules import LARGEST, composed
from strukt.kernels.oracles import Oracles

ORACLES = Oracles(
    "low_rank_pcfg",
    scores=("spans", "root", "left", "right", "head", "emission"),
    options=(),
    reference=REFERENCE,
    event_dim=2,
)

__all__ = ["LARGEST", "ORACLES", "composed"]
