"""The configuration of ListOps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.tasks.common.config import OptimizerConfig, TaskConfig, TrainerConfig
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.uses import Use


def _encoder() -> EncoderConfig:
    return EncoderConfig(
        layers=1, hidden=25, dropout=0.0, words=50, minimum_count=1, normalise=False, word_dropout=0.0,
        characters="none", affixes=0,
    )  # fmt: skip


@dataclass
class Config(TaskConfig):
    """Options of ListOps.

    A graph convolution reads a dependency tree of the expression and tells each operator's arity, or the value. By
    default it knows of a symbol nothing but its place in the tree.

    Args:
        target: What is predicted.
        structure: The tree that is read: each symbol below the next one, or below the one before it, or all below
            the root; that of the brackets; a latent one, or latent ones in which no head has more dependents than
            the budget; or none.
        estimator: Which latent trees of structure tree are read, and how gradients come back to their scores.
        budget: The most dependents of a head, for structure tree-budget.
        iterations: Steps after which the search for sparse marginals ends, whether it is at the end or not (of
            structure tree-budget the rounds in which its factors come to agree); 0 for as many as it takes.
        reads: What the convolution knows of a symbol.
        arc_size: Size of the vectors that are compared to score an arc.
        size: Of the vectors that the convolution makes of symbols.
        layers: Of the convolution: how far a symbol hears along arcs.
        longest: Expressions of the training corpus with more symbols are left out.
        encoder: How symbols become the vectors from which latent trees are scored.
        optimizer: How the weights are found.
        trainer: How long, on what, and how safely.
    """

    summary = "the arities of operators, or the value, of expressions as in ListOps, by latent trees"
    readers = corpus.LISTS
    uses = (
        Use.by_choice(["estimator"], "structure", "tree"),
        Use.by_choice(["budget"], "structure", "tree-budget"),
        Use(
            ["iterations"],
            "--structure tree-budget, or tree with --estimator sparsemap or sparse-marginals",
            lambda config: (
                config.structure == "tree-budget"
                or (config.structure == "tree" and config.estimator in ("sparsemap", "sparse-marginals"))
            ),
        ),
    )

    target: Literal["arity", "value"] = "arity"
    structure: Literal[
        "left-to-right",
        "right-branching",
        "flat",
        "gold",
        "tree",
        "tree-budget",
        "none",
    ] = "tree"
    estimator: Literal[
        "sparse-marginals",
        "sparsemap",
        "marginals",
        "argmax",
        "spigot",
        "perceptron",
        "sample",
        "relaxed",
        "topk",
    ] = "sparse-marginals"
    budget: int = 5
    iterations: int = 0
    reads: Literal["nothing", "words"] = "nothing"
    arc_size: int = 50
    size: int = 50
    layers: int = 1
    longest: int = 100
    encoder: EncoderConfig = field(default_factory=_encoder)
    optimizer: OptimizerConfig = field(
        default_factory=lambda: OptimizerConfig(learning_rate=1e-3, averaging=0.99)
    )
    # Small vectors, and sums over many symbols.
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(tokens=1000, precision="32"))
