"""Binary trees over spans that carry codes of independent bits: the inside recursion, which never sees a code."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.bit_span_tree.reference import REFERENCE

ORACLES = TableOracles(
    __package__, scores=("positive", "negative"), options=(), reference=REFERENCE, event_dim=2
)
