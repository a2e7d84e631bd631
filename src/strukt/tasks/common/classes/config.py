"""Options that the tasks with a class for each sentence, or pair of sentences, share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strukt.tasks.common.uses import Use

EstimatorName = Literal[
    "sparsemap",
    "marginals",
    "sparse-marginals",
    "argmax",
    "spigot",
    "perceptron",
    "sample",
    "relaxed",
    "topk",
]
"""The ways in which a network reads latent structures, named as in `strukt.nn.estimators.ESTIMATORS`."""


@dataclass
class LatentTreeConfig:
    """The trees that a network reads, and how it does.

    Args:
        tree: Latent ones, whose scores are learned with all else; those in the HEAD column of the corpus; or
            always the same: all words below the root, each word below the one after it, or before it.
        estimator: Which latent trees are read, and how gradients come back to their scores.
        reader: An LSTM from the leaves of a tree to its root, or graph convolutions along its arcs.
        count: How many trees the estimators topk and sample read.
        arc_size: Size of the vectors that are compared to score an arc.
        hidden: Size of the vector of a sentence.
        detach: Whether the gradient of the scores of latent trees ends at the encoder. In the published models it
            does not: the vectors of words learn from both, what the trees say and which trees are chosen.
    """

    tree: Literal["latent", "given", "flat", "left-to-right", "right-branching"] = "latent"
    estimator: EstimatorName = "sparsemap"
    reader: Literal["lstm", "gcn"] = "lstm"
    count: int = 5
    arc_size: int = 100
    hidden: int = 150
    detach: bool = True


LATENT_TREE_USES = (
    Use.by_choice(["latent."], "model", "latent-tree"),
    Use.by_choice(["latent.estimator", "latent.arc_size", "latent.detach"], "latent.tree", "latent"),
    Use.by_choice(["latent.count"], "latent.estimator", "topk", "sample"),
)
"""When the options of the group `latent` are read, for configurations that have one."""
