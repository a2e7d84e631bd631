"""Binary trees over spans that carry codes of independent bits: the inside recursion, which never sees a code."""

from strukt.kernels.codes.reference import REFERENCE, max_marginals
from strukt.kernels.engine.oracles import TableOracles

ORACLES = TableOracles(
    "codes", scores=("positive", "negative"), options=(), reference=REFERENCE, event_dim=2
)

__all__ = ["ORACLES", "max_marginals"]
