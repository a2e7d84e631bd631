"""The log-probability of sentences under a low-rank PCFG, with a gradient that needs no labels of spans.

The oracles of `strukt.structures.low_rank_pcfg` compute the probability of each label of each span in every
derivative, (n + 1)^2 (s + p) numbers per item. Training needs only the gradients of the grammar and the words.
"""

from strukt.kernels.oracles import Oracles
from strukt.structures.low_rank_pcfg.rank_inside.reference import REFERENCE

ORACLES = Oracles(
    __package__,
    scores=("emission", "root", "left", "right", "head"),
    options=(),
    reference=REFERENCE,
)
