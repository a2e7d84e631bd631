"""Display of a training run on standard error: a progress bar during each epoch, and its scores afterwards."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typing_extensions import override

from strukt.train.records import scores
from strukt.train.training import Training


class Display(Callback):
    """Show a progress bar, only on a terminal, and write a line of scores after each epoch."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    @override
    def on_train_epoch_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Start a progress bar."""
        if not trainer.is_global_zero or not isinstance(module, Training):
            return
        columns = (
            TextColumn("epoch {task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.4f}"),
            TimeRemainingColumn(),
        )
        console = Console(stderr=True)
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        epoch = f"{module.progress.epoch + 1}/{module.model.config.trainer.epochs}"
        self._bar.add_task(
            epoch, total=module.batches_in_epoch, completed=module.progress.batch, loss=module.progress.loss
        )
        self._bar.start()

    @override
    def on_train_batch_end(self, trainer: Trainer, module: LightningModule, *_: Any) -> None:
        """Advance the progress bar."""
        if self._bar is not None and isinstance(module, Training):
            self._bar.update(self._bar.task_ids[0], advance=1, loss=module.progress.loss)

    @override
    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Write the scores; runs after `Evaluation`."""
        if self._bar is None or not isinstance(module, Training):
            return
        self._bar.stop()
        progress = module.progress
        entry = progress.history[-1]
        shown = "  ".join(f"{name} {value:.2f}" for name, value in scores(entry).items())
        part = progress.batch / module.batches_in_epoch  # above 0 if the time limit ended the epoch
        epoch = f"{progress.epoch + part:.1f}" if part else f"{progress.epoch}"
        mark = " (best)" if progress.best_epoch == progress.epoch + bool(part) else ""
        minutes = f"{progress.seconds / 60:.1f} min"
        self._bar.console.print(
            f"epoch {epoch:>3}  loss {entry['loss']:.4f}  {shown}{mark}  {minutes}",
            highlight=False,
            soft_wrap=True,
        )

    @override
    def on_exception(self, trainer: Trainer, module: LightningModule, exception: BaseException) -> None:
        """Restore the terminal."""
        if self._bar is not None:
            self._bar.stop()
