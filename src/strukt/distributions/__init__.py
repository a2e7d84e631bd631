"""Structures as ``torch.distributions``: one file for each family."""

from strukt.distributions.alignment import MonotoneAlignment
from strukt.distributions.chain import LinearChain
from strukt.distributions.constituency import SpanTree
from strukt.distributions.ctc import CTC
from strukt.distributions.dependency import NonProjectiveTree, ProjectiveTree
from strukt.distributions.distribution import StructuredDistribution

__all__ = [
    "CTC",
    "LinearChain",
    "MonotoneAlignment",
    "NonProjectiveTree",
    "ProjectiveTree",
    "SpanTree",
    "StructuredDistribution",
]
