"""The configuration of classification."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from typing_extensions import override

from strukt.data import corpus
from strukt.errors import SettingError
from strukt.tasks.common.classes.config import LATENT_TREE_USES, LatentTreeConfig
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.uses import Use


@dataclass
class Config(TaskConfig):
    """Options of classification.

    The model `encoder` classifies a sentence by the vector of an added word (`token`). If the encoder is a
    Probabilistic Transformer with a root (`encoder.pt.root_labels`), it reads the label scores of the root instead
    (`encoder.pt.root_output`). The model `latent-tree` is a network that reads dependency trees.

    Args:
        model: Source of a sentence's vector. encoder: the encoder alone; latent-tree: a network over
            dependency trees.
        token: Word added to each sentence to represent it. end: after the last word; cls: before the first
            word, like BERT's [CLS]. For model encoder.
        latent: Dependency trees that the network reads, for model latent-tree.
    """

    summary = "a class for each sentence: its polarity, its intent"
    readers = corpus.CLASSES
    uses = (
        Use(
            ["token"],
            "--model encoder, and no root in its place (--encoder.pt.root_labels)",
            lambda config: config.model == "encoder" and not config.encoder.has_root,
        ),
        *LATENT_TREE_USES,
    )

    model: Literal["encoder", "latent-tree"] = "encoder"
    token: Literal["end", "cls"] = "end"
    latent: LatentTreeConfig = field(default_factory=LatentTreeConfig)

    @property
    @override
    def classifies_root(self) -> bool:
        return self.model == "encoder" and self.encoder.has_root

    def require_fitting(self) -> None:
        super().require_fitting()
        self.latent.require_fitting()
        if self.model == "encoder":
            self.encoder.require_context()
        if self.token == "cls" and self.encoder.kind == "lstm":
            raise SettingError(
                "--token cls comes before the words, so --encoder.kind lstm reads none of them; choose --token end"
            )
