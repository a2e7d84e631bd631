"""Decisions that all processes of a training run take after the same step."""

from __future__ import annotations

import time

import torch
from lightning.pytorch import Trainer

SECONDS = 1.0
"""The intended seconds between two exchanges: more if a step is longer, and fewer if `MOST_STEPS` limits them."""

MOST_STEPS = 100
"""The largest number of steps between two exchanges, however short the steps are."""


class Agreement:
    """The agreement of all processes, after the same step, on whether one of them has requested to stop.

    To exchange requests, all processes wait for each other and for their devices. So they do this about once a
    second, not after each step: each time, they agree on the number of steps until the next exchange.
    """

    def __init__(self) -> None:
        self._steps, self._until, self._asked = 0, 1, time.monotonic()

    def after_step(self, trainer: Trainer, requested: bool) -> bool:
        """Exchange requests if that is due; return True if a process has made one. Call this after each step.

        Several processes get False at all steps without an exchange.

        Args:
            trainer: The trainer, through which processes communicate.
            requested: True if this process requests to stop.
        """
        if trainer.world_size == 1:
            return requested
        self._steps += 1
        return self._steps >= self._until and self.at_once(trainer, requested)

    def at_once(self, trainer: Trainer, requested: bool) -> bool:
        """Exchange requests now; return True if a process has made one. All processes must reach this point.

        The arguments are those of `after_step`.
        """
        if trainer.world_size == 1:
            return requested
        now = time.monotonic()
        pace = self._steps / max(now - self._asked, 1e-6)
        until = max(1, min(int(SECONDS * pace), MOST_STEPS))
        mine = torch.tensor([int(requested), -until], device=trainer.strategy.root_device)
        largest, of_slowest = trainer.strategy.reduce(mine, reduce_op="max").tolist()
        self._steps, self._until, self._asked = 0, -of_slowest, now
        return bool(largest)
