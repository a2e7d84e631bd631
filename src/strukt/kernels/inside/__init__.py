"""Binary trees over spans: the inside recursion, and its oracles for spans that carry codes of bits."""

from strukt.kernels.inside.bits import BitOracles
from strukt.kernels.inside.reference import REFERENCE, max_marginals
from strukt.kernels.oracles import Oracles

ORACLES = Oracles("inside", scores=("spans",), options=("labelled",), reference=REFERENCE, event_dim=2)
BITS = BitOracles(ORACLES)

__all__ = ["BITS", "ORACLES", "max_marginals"]
