"""Hidden Markov models: the forward recursion through the factors of a transition matrix."""

from strukt.kernels.hmm.evidence import following, log_evidence

__all__ = ["following", "log_evidence"]
