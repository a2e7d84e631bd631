"""Lightning callbacks of a training run: evaluation, time limit, checkpoints, saved model."""

from __future__ import annotations

import contextlib
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from typing_extensions import override

from strukt.data.batching import batches
from strukt.data.sentence import Sentence
from strukt.errors import DataError
from strukt.tasks.common.batch import in_fitting_pieces
from strukt.tasks.common.model import Model
from strukt.tasks.common.unknown_labels import is_known
from strukt.train import checkpoints, saved_model
from strukt.train.agreement import Agreement
from strukt.train.memory import give_back_freed_memory
from strukt.train.records import DEV_LOSS, LARGEST_SCORE
from strukt.train.termination import Termination
from strukt.train.training import Training


class Evaluation(Callback):
    """Evaluate the averaged weights after each epoch; stop after the last one, or when patience runs out.

    Args:
        train: The training corpus, on which some models are calibrated before they are evaluated.
        dev: The development corpus.
    """

    def __init__(self, train: Sequence[Sentence], dev: Sequence[Sentence]) -> None:
        self.train = train
        self.dev = dev
        self._known: list[Sentence] | None = None

    @override
    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Evaluate in process 0, and send the scores to the other processes."""
        training = _training(module)
        scores: dict[str, float] = {}
        if trainer.is_global_zero:
            with training.average.applied(training.model), training.noticing_divergence():
                training.model.calibrate(self.train)
                scores = training.model.evaluate(self.dev)
                if training.model.config.optimizer.schedule == "halving":
                    scores |= self._dev_loss(training.model)
        give_back_freed_memory()
        training.end_epoch(trainer.strategy.broadcast(scores))
        trainer.should_stop = trainer.should_stop or training.is_finished
        if trainer.logger is not None:
            trainer.logger.log_metrics(
                {f"dev/{name}": value for name, value in scores.items()}, training.progress.step
            )

    def _dev_loss(self, model: Model) -> dict[str, float]:
        """Return the mean loss of the development sentences that the model could be trained on, as `dev_loss`.

        If there are no such sentences, return an empty dictionary.
        """
        if self._known is None:
            learnable: Sequence[Sentence] = []
            with warnings.catch_warnings(), contextlib.suppress(DataError):
                warnings.simplefilter("ignore")  # about sentences that training would leave out
                learnable = type(model).trainable(model.config, self.dev)
            self._known = [sentence for sentence in learnable if is_known(model, sentence)]
        if not self._known:
            return {}
        total = 0.0

        def run(pieces: list[list[Sentence]]) -> float:
            """Return the sum of the losses of the pieces of a batch, each times its weight."""
            losses = (float(model.loss(model.collate(piece).to(model.device))) for piece in pieces)
            return sum(model.weight(piece) * loss for piece, loss in zip(pieces, losses, strict=True))

        with model.predicting():
            for indices in batches(model.sizes(self._known), model.config.trainer.tokens):
                total += in_fitting_pieces(run, [self._known[index] for index in indices])
        return {DEV_LOSS: min(total / model.weight(self._known), LARGEST_SCORE)}


class TimeLimit(Callback):
    """End training after a time limit, as if the epoch were over.

    A single process stops after the first step beyond the limit; several processes stop about a second later.

    Args:
        minutes: The limit; 0 for no limit.
    """

    def __init__(self, minutes: float) -> None:
        self.seconds = 60 * minutes
        self._agreement = Agreement()

    @override
    def on_train_batch_end(self, trainer: Trainer, module: LightningModule, *_: Any) -> None:
        """Stop all processes at the same step, once one of them has reached the limit."""
        if not self.seconds:
            return
        is_over = _training(module).progress.seconds >= self.seconds
        if self._agreement.after_step(trainer, is_over):
            trainer.should_stop = True


class Checkpoints(Callback):
    """Write a checkpoint every `every` steps, after each epoch, and before SIGTERM or the time limit ends the run.

    After the time limit, the checkpoint is written before the evaluation, because a resumed run must not know the
    scores within an epoch, which an uninterrupted run does not have.

    Args:
        folder: The folder of the checkpoints.
        every: Number of steps between checkpoints.
        termination: The callback that records SIGTERM.
    """

    def __init__(self, folder: Path, every: int, termination: Termination) -> None:
        self.folder = folder
        self.every = every
        self.termination = termination

    @override
    def on_train_batch_end(self, trainer: Trainer, module: LightningModule, *_: Any) -> None:
        """Write a checkpoint if one is due; after the last batch, `on_train_epoch_end` writes it, with scores."""
        training = _training(module)
        if training.progress.batch == training.batches_in_epoch:
            return
        is_end = self.termination.is_due_after_step(trainer)
        if is_end or trainer.should_stop or training.progress.step % self.every == 0:
            self._write(trainer, training)
        if is_end:
            self.termination.end(trainer)

    @override
    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Write a checkpoint with the scores of a whole epoch; runs after `Evaluation`."""
        training = _training(module)
        if training.progress.batch == 0:
            self._write(trainer, training)
        if self.termination.is_due(trainer) and not training.is_finished:
            self.termination.end(trainer)

    def _write(self, trainer: Trainer, training: Training) -> None:
        """Write a checkpoint in process 0."""
        if trainer.is_global_zero:
            checkpoints.write(self.folder, training.checkpoint())


class FinalModel(Callback):
    """Save the best model at the end, and remove the checkpoints if training is finished.

    Args:
        folder: The folder of the model.
        checkpoints: The folder of the checkpoints.
    """

    def __init__(self, folder: Path, checkpoints: Path) -> None:
        self.folder = folder
        self.checkpoints = checkpoints

    @override
    def on_train_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Save the model in process 0 while the others wait: a launcher may end all processes if one exits."""
        if trainer.is_global_zero:
            save_best(_training(module), self.folder, self.checkpoints)
        trainer.strategy.barrier()


def save_best(training: Training, folder: Path, checkpoints: Path) -> None:
    """Save the best weights with their scores, and remove the checkpoints if training is finished.

    Args:
        training: The training run, after at least one evaluation.
        folder: The folder of the model.
        checkpoints: The folder of the checkpoints.
    """
    progress = training.progress
    curve = progress.history
    metrics = {
        "dev": max(curve, key=training.selection_key),
        "minutes": round(progress.seconds / 60, 2),
        "history": curve,
    }
    saved_model.save(training.model, folder, metrics, training.best)
    if training.is_finished:
        shutil.rmtree(checkpoints, ignore_errors=True)


def _training(module: LightningModule) -> Training:
    assert isinstance(module, Training)
    return module
