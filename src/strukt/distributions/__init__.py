"""Structures as ``torch.distributions``: one file for each family."""

from strukt.distributions.chain import LinearChain
from strukt.distributions.constituency import SpanTree
from strukt.distributions.dependency import NonProjectiveTree, ProjectiveTree
from strukt.distributions.determinantal import KDPP
from strukt.distributions.distribution import StructuredDistribution
from strukt.distributions.subset import KSubset

__all__ = [
    "KDPP",
    "KSubset",
    "LinearChain",
    "NonProjectiveTree",
    "ProjectiveTree",
    "SpanTree",
    "StructuredDistribution",
]
