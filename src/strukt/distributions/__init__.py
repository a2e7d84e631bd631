"""Structures as ``torch.distributions``: one file for each family."""

from strukt.distributions.bits import BitSpanTree
from strukt.distributions.chain import LinearChain
from strukt.distributions.constituency import SpanTree
from strukt.distributions.dependency import NonProjectiveTree, ProjectiveTree
from strukt.distributions.distribution import StructuredDistribution
from strukt.distributions.segmentation import SemiMarkov

__all__ = [
    "BitSpanTree",
    "LinearChain",
    "NonProjectiveTree",
    "ProjectiveTree",
    "SemiMarkov",
    "SpanTree",
    "StructuredDistribution",
]
