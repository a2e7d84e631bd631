"""Truth by enumeration: all structures of one small item in a table, operators as sums and maxima over it.

Nothing here shares code with the distributions that it judges. An enumerator takes the length and the raw
scores of one item and returns a `Table`, which has the members of a distribution. All arithmetic is float64
and stays differentiable in the scores.
"""

from strukt.testing.brute_force.alignments import ctc, monotone_alignment
from strukt.testing.brute_force.binary import binary
from strukt.testing.brute_force.chains import chain
from strukt.testing.brute_force.constituency import bit_span_tree, lexicalised_tree, span_tree
from strukt.testing.brute_force.dependency import non_projective_tree, projective_tree, second_order_tree
from strukt.testing.brute_force.foldings import folding
from strukt.testing.brute_force.grammars import low_rank_pcfg, pcfg
from strukt.testing.brute_force.matchings import matching
from strukt.testing.brute_force.segmentation import semi_markov
from strukt.testing.brute_force.spanning import spanning_tree
from strukt.testing.brute_force.subsets import k_dpp, k_subset
from strukt.testing.brute_force.table import Table

__all__ = [
    "Table",
    "binary",
    "bit_span_tree",
    "chain",
    "ctc",
    "folding",
    "k_dpp",
    "k_subset",
    "lexicalised_tree",
    "low_rank_pcfg",
    "matching",
    "monotone_alignment",
    "non_projective_tree",
    "pcfg",
    "projective_tree",
    "second_order_tree",
    "semi_markov",
    "span_tree",
    "spanning_tree",
]
