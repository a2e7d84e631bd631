"""What the active sets of non-projective trees take: arcs as parts, in the rows of the score matrix."""

from __future__ import annotations

from strukt.kernels.jit import inner, kernel
from strukt.kernels.sparsemap.state import ActiveSet, Array


@kernel
def load(arcs: Array, n: int, state: ActiveSet) -> None:
    """The scores of an item of n words; what lies beyond them is never asked for."""
    state.main[:] = 0.0
    main = state.main.reshape(arcs.shape)
    main[:n, : n + 1] = arcs[:n, : n + 1]


@inner
def name_arcs(heads: Array, heads_of_word: int, parts: Array) -> None:
    """The parts of a tree."""
    for m in range(heads.shape[0]):
        parts[m] = m * heads_of_word + heads[m]
