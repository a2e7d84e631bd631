"""Truth by enumeration: all structures of one small item in a table, operators as sums and maxima over it.

Nothing here shares code with the distributions that it judges. An enumerator takes the length and the raw
scores of one item and returns a `Table`, which has the members of a distribution. All arithmetic is float64
and stays differentiable in the scores.
"""

from strukt.testing.brute_force.chains import chain
from strukt.testing.brute_force.constituency import span_tree
from strukt.testing.brute_force.dependency import non_projective_tree, projective_tree
from strukt.testing.brute_force.grammars import pcfg
from strukt.testing.brute_force.table import Table

__all__ = ["Table", "chain", "non_projective_tree", "pcfg", "projective_tree", "span_tree"]
