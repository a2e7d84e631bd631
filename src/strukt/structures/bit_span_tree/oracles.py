"""The oracles of binary trees over spans with codes of independent bits."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.bit_span_tree.reference import REFERENCE

ORACLES = TableOracles(
    __package__, scores=("positive", "negative"), options=(), reference=REFERENCE, event_dim=2
)
