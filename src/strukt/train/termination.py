"""SIGTERM during a training run: the step is finished and a checkpoint written before the signal takes effect.

Several processes agree about once a second on whether one of them has received it (`Agreement`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch.multiprocessing.spawn import ProcessExitedException
from typing_extensions import override

from strukt.errors import TERMINATED
from strukt.train.agreement import Agreement


class Termination(Callback):
    """Note SIGTERM in place of Lightning, which would end the training at once with exit code 0."""

    def __init__(self) -> None:
        self._is_noted = False
        self._agreement = Agreement()

    @contextmanager
    def postponed(self, trainer: Trainer) -> Iterator[None]:
        """Note the signal within the context, and let it take effect when the training has ended.

        Args:
            trainer: The trainer, which passes the signal on to processes that it has started.

        Raises:
            SystemExit: If the signal ended the training, and the handler of the program has returned.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note_everywhere(number: int, _: Any) -> None:
            """Note the signal, and pass it on to the processes that the trainer has started."""
            self._note()
            if trainer.strategy.launcher is not None:
                trainer.strategy.launcher.kill(number)

        handler = signal.signal(signal.SIGTERM, note_everywhere)
        ended: BaseException | None = None
        try:
            yield
        except (SystemExit, ProcessExitedException) as error:  # the latter if a started process has ended
            if not self._is_noted:
                raise
            ended = error
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL if handler is None else handler)  # None: set in C
        # Without a handler, the signal would end the program before it has the result of a finished training.
        if self._is_noted and (ended is not None or callable(handler)):
            signal.raise_signal(signal.SIGTERM)
        if ended is not None:
            raise SystemExit(TERMINATED) from ended  # the handler has returned

    @override
    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Replace the handler of Lightning, which restores the former one after the training."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._note)

    def is_due_after_step(self, trainer: Trainer) -> bool:
        """Return True if a process has received the signal; several processes learn this about once a second."""
        return self._agreement.after_step(trainer, self._is_noted)

    def is_due(self, trainer: Trainer) -> bool:
        """Return True if a process has received the signal; all processes must call this at the same point."""
        return self._agreement.at_once(trainer, self._is_noted)

    def end(self, trainer: Trainer) -> None:
        """End the training of all processes, once the first has written its checkpoint.

        Raises:
            SystemExit: Always.
        """
        trainer.strategy.barrier()  # PyTorch kills processes that have not ended half a minute after another one
        self._is_noted = True  # in processes that have not received the signal, too
        raise SystemExit(TERMINATED)

    def _note(self, *_: Any) -> None:
        self._is_noted = True
