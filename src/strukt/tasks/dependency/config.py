"""The configuration of dependency parsing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.tasks.common.config import TaskConfig, TrainerConfig
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.uses import Use


@dataclass
class Config(TaskConfig):
    """Options of the dependency parsing task.

    Args:
        criterion: Each head for itself (head), or the whole tree: its likelihood among all trees (tree), the
            loss of SparseMAP, without (sparsemap) and with a margin (sparsemap-margin), or the structured hinge
            loss (hinge). With a margin, each wrong head counts 1 more.
        trees: What trees there are, in training by whole trees and in prediction: all with exactly one root, or
            those of them without crossing arcs.
        partial: Whether words of the training corpus with `_` in the column HEAD are not annotated and may have
            any head; the loss is the likelihood of the other heads, by criterion tree among all trees. For
            criteria head and tree.
        unlabelled: A corpus whose trees, if it has any, are not read: its sentences are learned with the others,
            by writing each word anew from its head, under all trees; see `strukt.nn.CRFAutoencoder`. For criterion
            tree.
        arc_size: Size of the vectors that are compared to score an arc.
        label_size: Size of the vectors that are compared to label an arc.
        encoder: How words become vectors.
        trainer: How long, on what, and how safely.
    """

    summary = "the head of each word and the label of the arc to it"
    readers = corpus.WORDS
    uses = (
        Use(
            ["partial"],
            "--criterion tree or head, and no --unlabelled",
            lambda config: config.criterion in ("tree", "head") and not config.unlabelled,
        ),
        Use.by_choice(["unlabelled"], "criterion", "tree"),
    )

    criterion: Literal["head", "tree", "sparsemap", "sparsemap-margin", "hinge"] = "head"
    trees: Literal["nonprojective", "projective"] = "nonprojective"
    partial: bool = False
    unlabelled: str = ""
    arc_size: int = 400
    label_size: int = 100
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(layers=3, hidden=400))
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=30, tokens=1500))
