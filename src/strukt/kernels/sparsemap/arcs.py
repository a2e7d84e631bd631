"""Arcs as the parts of active sets of non-projective trees, in the order of the score matrix, row by row."""

from __future__ import annotations

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, write
from strukt.kernels.sparsemap.state import ActiveSet


@inner
def load(arcs: Array, n: int, state: ActiveSet) -> None:
    """Write the scores of an item of n words, ``arcs (words, words + 1)``, to ``main``; padding becomes 0."""
    state.main[:] = 0.0
    main = state.main.reshape(arcs.shape)
    for word in range(n):
        write(main[word, : n + 1], arcs[word, : n + 1])


@inner
def name_arcs(heads: Array, heads_of_word: int, parts: Array) -> None:
    """Write the indices of a tree's arcs to ``parts (n,)``, given the head of each word, ``heads (n,)``.

    A row of the score matrix has ``heads_of_word`` entries.
    """
    for m in range(heads.shape[0]):
        parts[m] = m * heads_of_word + heads[m]
