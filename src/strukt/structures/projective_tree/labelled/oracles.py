"""The oracles of projective dependency trees with labelled arcs."""

from collections.abc import Sequence

from torch import Tensor

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.projective_tree.labelled.reference import REFERENCE


class _Oracles(TableOracles):
    """The oracles of trees whose events have a head and a label for each word."""

    def _event_shape(self, main: Tensor) -> Sequence[int]:
        return (main.shape[1], 2)


ORACLES = _Oracles(__package__, scores=("arcs",), options=("single_root",), reference=REFERENCE)
