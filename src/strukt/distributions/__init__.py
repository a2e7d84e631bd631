"""Structures as ``torch.distributions``: one file for each family."""

from strukt.distributions.chain import LinearChain
from strukt.distributions.distribution import StructuredDistribution

__all__ = ["LinearChain", "StructuredDistribution"]
