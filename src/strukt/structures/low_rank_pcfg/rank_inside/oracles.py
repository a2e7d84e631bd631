"""The log-probability of sentences under a grammar of low rank, with a gradient that no label of a span enters.

The oracles of `strukt.structures.low_rank_pcfg` give the probability of each label of each span, (n + 1)^2 (s + p)
numbers an item, whenever they are differentiated. Training needs only the gradients of a grammar and of the words.
"""

from strukt.kernels.oracles import Oracles
from strukt.structures.low_rank_pcfg.rank_inside.reference import REFERENCE

ORACLES = Oracles(
    __package__,
    scores=("emission", "root", "left", "right", "head"),
    options=(),
    reference=REFERENCE,
)
