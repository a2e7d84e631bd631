"""Structures as ``torch.distributions``: one file for each family."""

from strukt.distributions.chain import LinearChain
from strukt.distributions.constituency import SpanTree
from strukt.distributions.dependency import NonProjectiveTree, ProjectiveTree
from strukt.distributions.distribution import StructuredDistribution
from strukt.distributions.grammar import PCFG

__all__ = [
    "PCFG",
    "LinearChain",
    "NonProjectiveTree",
    "ProjectiveTree",
    "SpanTree",
    "StructuredDistribution",
]
