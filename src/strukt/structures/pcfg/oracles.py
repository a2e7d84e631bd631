"""Probabilistic context-free grammars: the inside recursion over labelled spans."""

from strukt.kernels.oracles import Oracles
from strukt.structures.pcfg.reference import REFERENCE

ORACLES = Oracles(
    __package__,
    scores=("spans", "root", "rules", "emission"),
    options=(),
    reference=REFERENCE,
    event_dim=2,
)
