"""Structures as ``torch.distributions``: one file for each family."""

from strukt.distributions.alignment import MonotoneAlignment
from strukt.distributions.binary import BinaryCRF
from strukt.distributions.bits import BitSpanTree
from strukt.distributions.chain import CheckpointedChain, LinearChain
from strukt.distributions.constituency import SpanTree
from strukt.distributions.ctc import CTC
from strukt.distributions.dependency import NonProjectiveTree, ProjectiveTree
from strukt.distributions.determinantal import KDPP
from strukt.distributions.distribution import StructuredDistribution
from strukt.distributions.emissions import Blocked, Categorical, Embedded
from strukt.distributions.grammar import PCFG
from strukt.distributions.hmm import HMM
from strukt.distributions.lexicalised import LexicalisedTree
from strukt.distributions.low_rank_pcfg import LowRankPCFG
from strukt.distributions.matching import Matching
from strukt.distributions.second_order import SecondOrderTree
from strukt.distributions.segmentation import SemiMarkov
from strukt.distributions.sharded_hmm import ShardedHMM
from strukt.distributions.spanning import SpanningTree
from strukt.distributions.subset import KSubset
from strukt.distributions.table import TableStructure
from strukt.distributions.transitions import Banded, Dense, LowRank

__all__ = [
    "CTC",
    "HMM",
    "KDPP",
    "PCFG",
    "Banded",
    "BinaryCRF",
    "BitSpanTree",
    "Blocked",
    "Categorical",
    "CheckpointedChain",
    "Dense",
    "Embedded",
    "KSubset",
    "LexicalisedTree",
    "LinearChain",
    "LowRank",
    "LowRankPCFG",
    "Matching",
    "MonotoneAlignment",
    "NonProjectiveTree",
    "ProjectiveTree",
    "SecondOrderTree",
    "SemiMarkov",
    "ShardedHMM",
    "SpanTree",
    "SpanningTree",
    "StructuredDistribution",
    "TableStructure",
]
