"""Options that all tasks share: plain dataclasses, so that --help does not import PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from strukt.data.corpus import Readers
from strukt.errors import SettingError
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.uses import Use

OF_THE_RUN = ("trainer.", "optimizer.")
"""Groups of options that concern the training run alone, and not the model."""


@dataclass
class OptimizerConfig:
    """The optimizer; by default AdamW, with a warm-up and then a linear decay of the learning rate to zero.

    Args:
        kind: Optimizer. adamw: Adam with decoupled weight decay; adam: Adam with weight decay as an L2
            penalty.
        learning_rate: Peak learning rate.
        schedule: Learning rate schedule. linear: linear warm-up and linear decay to zero; halving: constant,
            and halved when the score on the development corpus stops improving. At equal scores, a lower loss on
            that corpus is an improvement.
        halve_after: Number of epochs without improvement after which the learning rate is halved.
        beta1: Decay rate of Adam's mean of gradients.
        beta2: Decay rate of Adam's mean of squared gradients.
        weight_decay: Weight decay, for all weights.
        warmup: Share of the training run in which the learning rate rises from 0, for schedule linear; 0, or less
            than one step, for no rise.
        clip: Maximum norm of the gradient.
        averaging: Decay rate of the moving average of the weights; the average is evaluated and saved. 0 for no
            averaging.
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
    """The training run: its length, its batches, its device, and its checkpoints.

    Args:
        epochs: Number of passes over the training corpus.
        max_minutes: Time limit in minutes, in total over all resumed runs, after which training ends cleanly; 0
            for no limit.
        patience: Number of epochs without improvement on the development corpus after which training ends.
        sentences: Maximum number of sentences in a batch; 0 for no limit.
        tokens: Maximum size of a batch, padding included, in words, or in word pieces of a pretrained model.
            Longer sentences are left out of training, with a warning.
        seed: Random seed of the initial weights, the order of sentences, and dropout.
        checkpoint_steps: Number of steps between checkpoints.
        precision: Floating-point precision; auto is bf16 if the hardware supports it, else 32. In all cases,
            weights are kept, and structures computed, in 32 bits.
        accelerator: Device to train on; auto is a GPU or another accelerator if there is one, else the CPU.
        devices: Number of devices, or of processes on CPUs. Leave it out under torchrun or srun, which start
            the processes.
        threads: Number of CPU threads; 0 for PyTorch's default.
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
    """The options of all tasks, and the properties of a task that are known without its model.

    Values are checked by `strukt.train.fit.fit` and on the command line, but not when they are set.

    Args:
        train: File of the training corpus.
        dev: File of the development corpus, on which the best epoch is selected.
        optimizer: Optimizer and learning rate.
        trainer: Length, batches, device and checkpoints of the training run.

    Attributes:
        summary: One line that says what the task predicts, for --help.
        readers: Readers of the files that models of the task learn from and annotate, by format.
        uses: Options of this class that have an effect only if other options have certain values.
        files: The options that name further files from which training learns.
    """

    summary: ClassVar[str]
    readers: ClassVar[Readers]
    uses: ClassVar[tuple[Use, ...]] = (
        Use.by_choice(["optimizer.halve_after"], "optimizer.schedule", "halving"),
        Use.by_choice(["optimizer.warmup"], "optimizer.schedule", "linear"),
    )
    files: ClassVar[tuple[str, ...]] = ()

    train: str = ""
    dev: str = ""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)

    def require_fitting(self) -> None:
        """Check that the options of this task fit each other.

        Raises:
            SettingError: If some options do not; the message names them, and the choices that would fit.
        """


@dataclass
class TaskConfig(FittingConfig):
    """The options of tasks whose models read sentences with an encoder.

    Args:
        encoder: Encoder, which computes a vector for each word.
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
            "the task classify or dictionary, and --encoder.pt.root_labels",
            lambda config: config.classifies_root,
        ),
    )

    encoder: EncoderConfig = field(default_factory=EncoderConfig)

    def require_fitting(self) -> None:
        if self.encoder.kind == "pt" and self.encoder.pt.shared:
            self.encoder.pt.require_scores_by_distance()

    @property
    def classifies_root(self) -> bool:
        """True if a sentence is classified by the label of its root."""
        return False


def require_heads(heads: int, size: int) -> None:
    """Check that the number of heads of a Transformer divides its size.

    Raises:
        SettingError: If the number does not divide the size.
    """
    if size % heads:
        raise SettingError(f"--heads is {heads}; expected a divisor of --size, {size}, for a Transformer")
