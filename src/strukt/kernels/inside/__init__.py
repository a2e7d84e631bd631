"""Binary trees over spans: the inside recursion."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.inside.reference import REFERENCE, max_marginals

ORACLES = TableOracles(
    "inside", scores=("spans",), options=("labelled",), reference=REFERENCE, event_dim=2
)

__all__ = ["ORACLES", "REFERENCE", "max_marginals"]
