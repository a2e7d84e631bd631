"""Binary trees over spans: the inside recursion."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.span_tree.reference import REFERENCE

ORACLES = TableOracles(
    __package__, scores=("spans",), options=("labelled",), reference=REFERENCE, event_dim=2
)
