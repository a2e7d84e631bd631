"""The oracles of probabilistic context-free grammars (inside-outside, CKY)."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.pcfg.reference import REFERENCE

ORACLES = TableOracles(
    __package__,
    scores=("spans", "root", "rules", "emission"),
    options=(),
    reference=REFERENCE,
    event_dim=2,
)
