"""Training of any model, as a Lightning module."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from strukt.data.sentence import Sentence
from strukt.errors import DataError, StruktError
from strukt.tasks.common.batch import in_fitting_pieces
from strukt.tasks.common.model import Model
from strukt.tasks.common.scores import ScoresError, usable_scores
from strukt.train.averaging import Average
from strukt.train.batch_order import Batches
from strukt.train.checkpoints import Checkpoint, Progress, flatten_optimizer, restore_optimizer, seed_step
from strukt.train.intact import fault_of_weights
from strukt.train.learning_rate import halvings, rate
from strukt.train.records import DEV_LOSS

LOG_EVERY = 10
"""Steps between two points of the curves in TensorBoard."""


class Training(LightningModule):
    """Optimise a model, track the progress, and keep the best weights.

    Lightning manages devices, precision and processes. The progress is tracked here, so that a run can resume in
    the middle of an epoch.

    Args:
        model: The model to train.
        train: The training corpus, without sentences that are too long.
        checkpoint: The checkpoint to resume from; None to start from the beginning.

    Attributes:
        progress: Progress of the run.
        average: The averaged weights; set when training starts.
        best: The averaged weights after the best epoch so far, on the CPU; empty before the first evaluation.

    Raises:
        DataError: If the checkpoint does not fit the model.
    """

    average: Average

    def __init__(
        self,
        model: Model,
        train: Sequence[Sentence],
        checkpoint: Checkpoint | None = None,
    ) -> None:
        super().__init__()
        self.automatic_optimization = False  # a batch that exhausts memory is computed in pieces
        self.model = model.train()  # Hugging Face loads models in evaluation mode, and Lightning leaves them so
        self.train_sentences = train
        self._sizes = model.sizes(train)
        self.progress = checkpoint.progress if checkpoint else Progress()
        if checkpoint:
            _load(model, checkpoint.tensors["weights"])
        self.best: dict[str, Tensor] = checkpoint.tensors["best"] if checkpoint else {}
        self.batches_in_epoch = 0
        self._checkpoint = checkpoint
        self._started = 0.0

    def train_dataloader(self) -> Batches:
        """Return the batches of this process."""
        return Batches(
            self.train_sentences,
            self._sizes,
            self.model.config.trainer,
            self.progress,
            self.global_rank,
            self.trainer.world_size,
        )

    def configure_optimizers(self) -> Optimizer:
        """Return Adam or AdamW; trainable parameters with the same share of the learning rate form a group."""
        options, shares = self.model.config.optimizer, self.model.rates()
        groups: dict[float, list[nn.Parameter]] = {}
        for name, parameter in self.model.named_parameters():
            if parameter.requires_grad:
                groups.setdefault(shares.get(name, 1.0), []).append(parameter)
        kind = AdamW if options.kind == "adamw" else Adam
        return kind(
            [{"params": parameters, "share": share} for share, parameters in groups.items()],
            lr=options.learning_rate,
            betas=(options.beta1, options.beta2),
            weight_decay=options.weight_decay,
        )

    def on_train_start(self) -> None:
        """Restore the state of the checkpoint, now that the optimizer exists.

        The average is created here, not in `__init__`: processes share the memory of all tensors made before they
        were spawned, except parameters and buffers. The tensors of a checkpoint are copied for the same reason.
        """
        self.average = Average(self.model, self.model.config.optimizer.averaging)
        self._started = time.monotonic() - self.progress.seconds
        if self._checkpoint is None:
            return
        tensors = self._checkpoint.tensors
        self.average.restore(tensors["average"])
        restore_optimizer(self._optimizer(), tensors["optimizer"])
        self.trainer.precision_plugin.load_state_dict(self._checkpoint.precision)
        self._checkpoint = None

    def on_train_epoch_start(self) -> None:
        """Count the batches of the epoch; the learning rate depends on their number."""
        self.batches_in_epoch = len(self.train_dataloader().order(self.progress.epoch))

    def training_step(self, sentences: list[Sentence], _: int) -> None:
        """Compute the gradients of a batch, and take one step of the optimizer.

        Raises:
            StruktError: If the loss is not finite, or the scores of the model are out of range.
        """
        progress, options = self.progress, self.model.config.optimizer
        seed_step(self.model.config.trainer.seed, progress.step, self.global_rank)
        with self.noticing_divergence():
            loss = self._gradients(sentences)
        if not math.isfinite(loss):
            raise self._diverged(f"the loss is {loss}")
        factor = self.rate()
        for group in self._optimizer().param_groups:
            group["lr"] = options.learning_rate * factor * group["share"]
        optimizer: Any = self.optimizers()
        self.clip_gradients(optimizer, gradient_clip_val=options.clip, gradient_clip_algorithm="norm")
        optimizer.step()
        self.average.update(self.model, progress.step)
        self._advance(loss)
        if self.logger is not None and progress.step % LOG_EVERY == 0:
            self.logger.log_metrics(
                {"loss": loss, "learning_rate": options.learning_rate * factor}, progress.step
            )

    def rate(self) -> float:
        """Return the factor by which the highest learning rate is multiplied at the current step."""
        progress, options = self.progress, self.model.config.optimizer
        if options.schedule == "halving":
            return 0.5 ** halvings(map(self.selection_key, progress.history), options.halve_after)
        epochs = self.model.config.trainer.epochs
        done = (progress.epoch + progress.batch / self.batches_in_epoch) / epochs
        # The rate rises from 0: a run of a single step would learn nothing.
        rises = options.warmup * epochs * self.batches_in_epoch >= 1
        return rate(done, options.warmup if rises else 0.0)

    @contextlib.contextmanager
    def noticing_divergence(self) -> Iterator[None]:
        """Replace an error about scores out of range, raised within the context, by one with advice.

        Raises:
            StruktError: If a computation within the context fails because of the scores of the model.
        """
        try:
            with usable_scores():
                yield
        except ScoresError as error:
            raise self._diverged(f"the scores are out of range ({error.reason})") from error

    def _diverged(self, reason: str) -> StruktError:
        """Return the error for a training run that diverges, with advice."""
        return StruktError(
            f"{reason} after step {self.progress.step}; lower optimizer.learning_rate "
            f"(now {self.model.config.optimizer.learning_rate}) or use trainer.precision 32"
        )

    def _gradients(self, sentences: list[Sentence]) -> float:
        """Compute the gradients of a batch, in pieces if memory runs out; return the loss with the penalty."""

        def run(pieces: list[list[Sentence]]) -> float:
            """Sum the gradients of the pieces, each times its share of the weight; return the summed loss."""
            self.zero_grad()
            total = 0.0
            for piece in pieces:
                batch = self.model.collate(piece).to(self.device)
                share = self.model.weight(piece) / self.model.weight(sentences)
                loss = (self.model.loss(batch) + self.model.penalty()) * share
                with torch.autocast(
                    self.device.type, enabled=False
                ):  # backward uses the types of the forward pass
                    self.manual_backward(loss)
                total += loss.item()
            return total

        if self.trainer.world_size > 1:
            return run([sentences])  # a second backward pass would wait for the other processes forever
        return in_fitting_pieces(run, sentences)

    def _advance(self, loss: float) -> None:
        """Count a step, its time and its loss."""
        progress = self.progress
        progress.loss = 0.95 * progress.loss + 0.05 * loss if progress.step else loss
        progress.step += 1
        progress.batch += 1
        progress.seconds = time.monotonic() - self._started

    def selection_key(self, scores: Mapping[str, float]) -> tuple[float, ...]:
        """Return the key by which epochs are compared: the score on the development corpus, then minus the loss.

        The loss, if it was computed, decides between epochs with equal scores, such as 100 per cent.
        """
        return self.model.quality(scores), -scores.get(DEV_LOSS, 0.0)

    def end_epoch(self, scores: dict[str, float]) -> None:
        """Record the scores after an epoch, or the part of it before the time limit; keep the weights if best.

        Args:
            scores: Scores of the averaged weights on the development corpus.

        Raises:
            StruktError: If a score is not finite, or if the best weights are NaN or too large to be loaded again.
        """
        for name, value in scores.items():
            if not math.isfinite(value):
                raise self._diverged(f"{name} is {value} on the development corpus")
        progress, selection_key = self.progress, self.selection_key(scores)
        if selection_key > max(map(self.selection_key, progress.history), default=()):
            progress.best_epoch = progress.epoch + 1
            with self.average.applied(self.model):
                self.best = {
                    name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()
                }
            if fault := fault_of_weights(self.model, self.best):
                raise self._diverged(fault)
        if progress.batch == self.batches_in_epoch:
            progress.epoch, progress.batch = progress.epoch + 1, 0
        progress.seconds = time.monotonic() - self._started
        progress.history.append(
            {"epoch": progress.epoch, "step": progress.step, "loss": progress.loss, **scores}
        )

    @property
    def is_finished(self) -> bool:
        """True if all epochs are done, or if patience has run out (early stopping)."""
        config, progress = self.model.config.trainer, self.progress
        waited = progress.epoch - progress.best_epoch
        return bool(progress.epoch >= config.epochs or waited >= config.patience)

    def checkpoint(self) -> Checkpoint:
        """Return the state to resume from."""
        tensors = {
            "weights": self.model.state_dict(),
            "average": self.average.weights,
            "best": self.best,
            "optimizer": flatten_optimizer(self._optimizer()),
        }
        return Checkpoint(self.progress, tensors, self.trainer.precision_plugin.state_dict())

    def _optimizer(self) -> Optimizer:
        """Return PyTorch's optimizer, which Lightning wraps."""
        optimizer: Any = self.optimizers()
        inner: Optimizer = optimizer.optimizer
        return inner


def _load(model: Model, weights: dict[str, Tensor]) -> None:
    """Load the weights of a checkpoint; raise `DataError` if they do not fit the model."""
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise DataError(
            "the last checkpoint does not fit the model: it was written by another version of strukt; "
            "start again in another folder"
        ) from error
