"""The configuration of classification."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from typing_extensions import override

from strukt.data import corpus
from strukt.tasks.common.classes.config import LATENT_TREE_USES, LatentTreeConfig
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.uses import Use


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
