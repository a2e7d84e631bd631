"""The configuration of dependency parsing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.errors import SettingError
from strukt.tasks.common.config import TaskConfig, TrainerConfig
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.uses import Use


@dataclass
class Config(TaskConfig):
    """Options of the dependency parsing task.

    Args:
        criterion: Loss. head: cross-entropy of each head on its own; tree: negative log-likelihood of the
            tree; sparsemap: SparseMAP loss; sparsemap-margin: SparseMAP loss with a margin; hinge: structured
            hinge loss. The margin is the number of wrong heads.
        trees: Trees to choose from, all with exactly one root. nonprojective: arcs may cross; projective: arcs
            do not cross. Criterion head uses them in prediction only.
        partial: Learn from partially annotated trees: a word of the training corpus with `_` in the column
            HEAD may have any head. The loss is the negative log-likelihood of the annotated heads. For criteria
            head and tree, without unlabelled.
        unlabelled: Corpus without trees to learn from, in addition to the training corpus: each word is
            reconstructed from its head, over all trees (`strukt.nn.CRFAutoencoder`). For criterion tree.
        arc_size: Size of the vectors from which arcs are scored.
        label_size: Size of the vectors from which the labels of arcs are scored.
        encoder: Encoder, which computes a vector for each word; by default with 3 layers and hidden size 400.
        trainer: Length, batches, device and checkpoints of the training run.
    """

    summary = "the head of each word and the label of the arc to it"
    readers = corpus.HEADS
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

    def require_fitting(self) -> None:
        super().require_fitting()
        if self.unlabelled and self.encoder.kind == "pretrained":
            raise SettingError(
                "--unlabelled needs an encoder with a vocabulary of words, and --encoder.kind pretrained has "
                "none; choose another kind"
            )
