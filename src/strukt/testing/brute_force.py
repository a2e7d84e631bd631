"""Ground truth by enumeration: a table of all structures of a small item, and operators as sums and maxima.

The enumerators share no code with the distributions under test. An enumerator takes the length and the raw scores
of one item and returns a `Table`, which has the members of a distribution. All arithmetic is in float64, and
differentiable in the scores.
"""

from strukt.structures.binary_crf.brute_force import binary as binary
from strukt.structures.bit_span_tree.brute_force import bit_span_tree as bit_span_tree
from strukt.structures.ctc.brute_force import ctc as ctc
from strukt.structures.enumeration import Table as Table
from strukt.structures.enumeration import choices as choices
from strukt.structures.k_dpp.brute_force import k_dpp as k_dpp
from strukt.structures.k_subset.brute_force import k_subset as k_subset
from strukt.structures.lexicalised_tree.brute_force import lexicalised_tree as lexicalised_tree
from strukt.structures.linear_chain.brute_force import chain as chain
from strukt.structures.low_rank_pcfg.brute_force import low_rank_pcfg as low_rank_pcfg
from strukt.structures.matching.brute_force import matching as matching
from strukt.structures.monotone_alignment.brute_force import monotone_alignment as monotone_alignment
from strukt.structures.non_projective_tree.brute_force import non_projective_tree as non_projective_tree
from strukt.structures.pcfg.brute_force import pcfg as pcfg
from strukt.structures.projective_tree.brute_force import projective_tree as projective_tree
from strukt.structures.second_order_tree.brute_force import second_order_tree as second_order_tree
from strukt.structures.semi_markov.brute_force import semi_markov as semi_markov
from strukt.structures.span_tree.brute_force import span_tree as span_tree
from strukt.structures.spanning_tree.brute_force import spanning_tree as spanning_tree
from strukt.structures.table_structure.brute_force import folding as folding
from strukt.structures.transducer.brute_force import transducer as transducer
