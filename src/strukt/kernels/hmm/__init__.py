"""Hidden Markov models: the forward recursion through the factors of a transition matrix."""

from strukt.kernels.hmm.blocked import Blocks
from strukt.kernels.hmm.evidence import following, log_evidence

__all__ = ["Blocks", "following", "log_evidence"]
