"""The Fenchel-Young losses of dependency trees, by the option `criterion`."""

from __future__ import annotations

from collections.abc import Mapping

LOSSES: Mapping[str, tuple[str | None, str | None]] = {
    "tree": ("entropy", None),
    "sparsemap": ("sparsemap", None),
    "sparsemap-margin": ("sparsemap", "hamming"),
    "hinge": (None, "hamming"),
}
"""Regularizer and cost of `fenchel_young_loss`, by criterion."""

SEARCHES = 20
"""Maximum number of iterations of SparseMAP in training, as in Niculae et al. (2018)."""

SEARCHES_IN_PREDICTION = 100
"""Maximum number of iterations of SparseMAP in prediction, enough to converge on nearly all sentences."""


def sparsity(trees: int) -> dict[str, tuple[int, int]]:
    """Return the numerators and denominators of two scores, for the number of trees of a sentence.

    They are `trees`, the mean number of trees, and `one tree`, the percentage of sentences with a single tree.
    """
    return {"trees": (trees, 1), "one tree": (100 * (trees == 1), 1)}
