"""Binary trees over spans: the inside recursion."""

from strukt.kernels.inside.reference import REFERENCE, max_marginals
from strukt.kernels.oracles import Oracles

ORACLES = Oracles("inside", scores=("spans",), options=("labelled",), reference=REFERENCE, event_dim=2)

__all__ = ["ORACLES", "max_marginals"]
