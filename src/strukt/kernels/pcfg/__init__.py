"""Probabilistic context-free grammars: the inside recursion over labelled spans."""

from strukt.kernels.oracles import Oracles
from strukt.kernels.pcfg.max_marginals import max_marginals
from strukt.kernels.pcfg.reference import REFERENCE

ORACLES = Oracles(
    "pcfg",
    scores=("spans", "root", "rules", "emission"),
    options=(),
    reference=REFERENCE,
    event_dim=2,
)

__all__ = ["ORACLES", "max_marginals"]
