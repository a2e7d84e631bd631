"""Options that all tasks share: plain dataclasses, so that help needs no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from strukt.data.corpus import Readers
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.uses import Use


@dataclass
class OptimizerConfig:
    """The optimizer: by default Adam, with a short rise of the learning rate and a linear fall to zero.

    Args:
        kind: AdamW, whose weight decay is apart from the gradient; or Adam, whose weight decay is part of it (L2).
        learning_rate: The highest learning rate.
        schedule: The linear rise and fall; or a constant rate, halved whenever epochs pass without gain.
        halve_after: How many such epochs pass before it is halved.
        beta1: Decay of Adam's mean of the gradients.
        beta2: Decay of Adam's mean of their squares.
        weight_decay: Of all weights.
        warmup: Part of the training in which the learning rate rises, if it is not constant.
        clip: Largest norm of the gradient.
        averaging: Decay of the moving average of the weights, which is evaluated and saved; 0 for none.
    """

    kind: Literal["adamw", "adam"] = "adamw"
    learning_rate: float = 2e-3
    schedule: Literal["linear", "halving"] = "linear"
    halve_after: int = 5
    beta1: float = 0.9
    beta2: float = 0.95
    weight_decay: float = 0.0
    warmup: float = 0.05
    clip: float = 5.0
    averaging: float = 0.998


@dataclass
class TrainerConfig:
    """The training: its length, its batches, its device, and its checkpoints.

    Args:
        epochs: Passes over the training corpus; the learning rate reaches zero at the end of the last.
        max_minutes: Stop cleanly after this time, counted over all resumptions; 0 for no limit.
        patience: Stop after so many epochs without a better result on the development corpus.
        sentences: Most sentences in a batch; 0 for no such bound.
        tokens: Most that the encoder reads in a batch, padding included: words, or the word pieces of a pretrained
            model. Longer sentences are left out of the training, with a warning.
        seed: Decides everything random: weights, order, dropout.
        checkpoint_steps: Steps between two checkpoints.
        precision: Of the arithmetic; auto is bf16 where the hardware computes with it. Weights are always
            kept in 32 bits, and structures computed in them.
        accelerator: Where to compute.
        devices: Number of devices, or of processes on CPUs; not for torchrun and srun, which begin the processes.
        threads: CPU threads; 0 leaves PyTorch's choice.
    """

    epochs: int = 20
    max_minutes: float = 0.0
    patience: int = 10
    sentences: int = 0
    tokens: int = 2500
    seed: int = 1
    checkpoint_steps: int = 200
    precision: Literal["auto", "32", "bf16", "16"] = "auto"
    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    devices: int = 1
    threads: int = 0


@dataclass
class FittingConfig:
    """The options of all tasks, and what a task says of itself without its model.

    Args:
        train: The training corpus.
        dev: The development corpus, which chooses the best epoch.
        optimizer: How the weights are found.
        trainer: How long, on what, and how safely.

    Attributes:
        summary: What the task is, for help.
        readers: The readers of the files that it learns from and annotates, by their formats.
        uses: The options of this class that are read only if others have certain values.
    """

    summary: ClassVar[str]
    readers: ClassVar[Readers]
    uses: ClassVar[tuple[Use, ...]] = (
        Use.by_choice(["optimizer.halve_after"], "optimizer.schedule", "halving"),
        Use.by_choice(["optimizer.warmup"], "optimizer.schedule", "linear"),
    )

    train: str = ""
    dev: str = ""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)


@dataclass
class TaskConfig(FittingConfig):
    """The options of tasks whose models read sentences by an encoder.

    Args:
        encoder: How words become vectors.
    """

    uses: ClassVar[tuple[Use, ...]] = (
        Use.by_choice(["encoder.transformer."], "encoder.kind", "transformer"),
        Use.by_choice(["encoder.pt."], "encoder.kind", "pt"),
        Use(
            ["encoder.pt.symmetric_messages"],
            "--encoder.pt.symmetric true",
            lambda config: config.encoder.pt.symmetric,
        ),
        Use(
            ["encoder.pt.tells_heads"],
            "--encoder.pt.symmetric false, or --encoder.pt.symmetric_messages both",
            lambda config: not config.encoder.pt.symmetric or config.encoder.pt.symmetric_messages == "both",
        ),
        Use(
            ["encoder.pt.rank"],
            "a --encoder.pt.decomposition other than full",
            lambda config: config.encoder.pt.decomposition != "full",
        ),
        Use(
            ["encoder.pt.feature_choice"],
            "--encoder.pt.features",
            lambda config: config.encoder.pt.features > 0,
        ),
        Use.by_choice(["encoder.pretrained", "encoder.fine_tuning."], "encoder.kind", "pretrained"),
        Use(
            ["encoder.pt.root_output"],
            "the task classify and --encoder.pt.root_labels",
            lambda config: config.classifies_root,
        ),
    )

    encoder: EncoderConfig = field(default_factory=EncoderConfig)

    @property
    def classifies_root(self) -> bool:
        """True if the class of a sentence is told from the labels of its root."""
        return False
