"""Classification: one class for each sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from strukt.data import corpus
from strukt.tasks.config import EstimatorName, TaskConfig

if TYPE_CHECKING:
    from strukt.tasks.classifier import Classifier

SUMMARY = "a class for each sentence: its polarity, its intent"
READERS = corpus.CLASSES


@dataclass
class LatentTreeConfig:
    """Which trees a network reads, and how.

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


@dataclass
class Config(TaskConfig):
    """Options of classification.

    By the encoder alone, a sentence is classified by the label of its root, where `encoder.pt.root_labels` gives
    one to encoders of kind pt, otherwise by the vector of a word that is added to it. By latent trees, it is
    classified by what a network makes of some dependency trees of it.

    Args:
        model: What makes a vector of a sentence.
        token: The word that is added: one at the end, or one in front, as BERT's CLS.
        latent: Which trees, for model latent-tree.
    """

    model: Literal["encoder", "latent-tree"] = "encoder"
    token: Literal["end", "cls"] = "end"
    latent: LatentTreeConfig = field(default_factory=LatentTreeConfig)


def model_class() -> type[Classifier]:
    """The model of this task."""
    from strukt.tasks.classifier import Classifier

    return Classifier
