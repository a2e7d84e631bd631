"""The oracles of binary trees over spans, by the inside algorithm (CKY)."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.span_tree.reference import REFERENCE

ORACLES = TableOracles(
    __package__, scores=("spans",), options=("labelled",), reference=REFERENCE, event_dim=2
)
