"""The oracles of transducers (RNN-T)."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.transducer.reference import REFERENCE

ORACLES = TableOracles(
    __package__,
    scores=("moves",),
    options=(),
    reference=REFERENCE,
    event_dim=2,
    constants=("target_lengths",),
)
