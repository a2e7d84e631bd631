"""Options that the tasks with a class for each sentence, or pair of sentences, share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strukt.errors import SettingError
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
"""Estimators of latent structures, named as in `strukt.nn.estimators.ESTIMATORS`."""


@dataclass
class LatentTreeConfig:
    """The dependency trees that a network reads.

    Args:
        tree: Trees to read. latent: trees whose scores are learned with the classifier; given: the column HEAD
            of the corpus; flat: the root heads every word; left-to-right: each word is headed by the next one;
            right-branching: each word is headed by the previous one.
        estimator: Method that selects the latent trees to read, and estimates the gradients of their scores; see
            `strukt.nn.estimators`.
        reader: Network that reads a tree. lstm: tree LSTM, from the leaves to the root; gcn: graph
            convolutions along the arcs.
        count: Number of trees to read, for estimators topk and sample.
        arc_size: Size of the vectors from which arcs are scored.
        hidden: Size of the vector of a sentence.
        detach: Stop the gradient of the scores of latent trees before the encoder; false as published, where
            the encoder learns from these scores too.
    """

    tree: Literal["latent", "given", "flat", "left-to-right", "right-branching"] = "latent"
    estimator: EstimatorName = "sparsemap"
    reader: Literal["lstm", "gcn"] = "lstm"
    count: int = 5
    arc_size: int = 100
    hidden: int = 150
    detach: bool = True

    def require_fitting(self) -> None:
        """Check that the options fit each other.

        Raises:
            SettingError: If there is only one sample for estimator sample.
        """
        if self.estimator == "sample" and self.count < 2:
            raise SettingError(f"--latent.count is {self.count}; --latent.estimator sample needs 2 or more")


LATENT_TREE_USES = (
    Use.by_choice(["latent."], "model", "latent-tree"),
    Use.by_choice(["latent.estimator", "latent.arc_size", "latent.detach"], "latent.tree", "latent"),
    Use.by_choice(["latent.count"], "latent.estimator", "topk", "sample"),
)
"""Conditions under which the options of the group `latent` are read."""
