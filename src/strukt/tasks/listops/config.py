"""The configuration of ListOps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.errors import SettingError
from strukt.tasks.common.classes.config import EstimatorName
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

    A graph convolution over a dependency tree of the expression predicts the arity of each operator, or the value.
    By default it reads the tree only, not the symbols.

    Args:
        target: Target of the prediction: the arity of each operator, or the value of the expression.
        structure: Tree to read. left-to-right: each symbol is headed by the next one; right-branching: each
            symbol is headed by the previous one; flat: the root heads every symbol; gold: the tree of the
            brackets; tree: latent trees; tree-budget: latent trees with at most `budget` dependents of a head;
            none: no tree.
        estimator: Method that selects the latent trees to read, and estimates the gradients of their scores, for
            structure tree; see `strukt.nn.estimators`.
        budget: Maximum number of dependents of a head, for structure tree-budget.
        iterations: Maximum number of iterations of SparseMAP, for estimators sparsemap and sparse-marginals, or of
            LP-SparseMAP, for structure tree-budget; 0 to continue to convergence.
        reads: Input of the convolution. nothing: the tree only; words: the symbols as well.
        arc_size: Size of the vectors from which arcs are scored.
        size: Size of the vectors of symbols in the convolution.
        layers: Number of layers of the convolution: the number of arcs over which symbols exchange
            information.
        longest: Maximum number of symbols of an expression; longer expressions are left out of training.
        encoder: Encoder, from whose vectors of symbols latent trees are scored; by default a small one: 1 layer,
            hidden 25, words 50, minimum_count 1, normalise false, and no characters, affixes, dropout or word
            dropout.
        optimizer: Optimizer and learning rate.
        trainer: Length, batches, device and checkpoints of the training run.
    """

    summary = "the arities of the operators, or the value, of ListOps expressions, by latent trees"
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
    estimator: EstimatorName = "sparse-marginals"
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
    # The vectors are small and the sums long, so bfloat16 is neither faster nor precise enough.
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(tokens=1000, precision="32"))

    def require_fitting(self) -> None:
        super().require_fitting()
        if self.target == "value" and self.structure == "none":
            raise SettingError(
                "--target value reads the dependents of the root, and --structure none has none; choose flat, or "
                "the task classify"
            )
        if self.target == "value" and self.reads == "nothing":
            raise SettingError("--target value needs --reads words; the tree alone does not show the digits")
